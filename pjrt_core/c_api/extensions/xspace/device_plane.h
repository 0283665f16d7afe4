// The plane of a device in an XSpace: a line per queue, an event per command. Pure function.
#ifndef PJRT_CORE_C_API_EXTENSIONS_XSPACE_DEVICE_PLANE_H_
#define PJRT_CORE_C_API_EXTENSIONS_XSPACE_DEVICE_PLANE_H_

#include <string>

#include "pjrt_core/runtime/profiler.h"

namespace onexpu::c_api {

std::string SerializeDevicePlane(const DeviceProfile& device);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXTENSIONS_XSPACE_DEVICE_PLANE_H_
