// The plane of the allocations in an XSpace: a line per device that has any. Pure function.
#ifndef PJRT_CORE_C_API_EXTENSIONS_XSPACE_MEMORY_PLANE_H_
#define PJRT_CORE_C_API_EXTENSIONS_XSPACE_MEMORY_PLANE_H_

#include <string>

#include "absl/types/span.h"
#include "pjrt_core/runtime/profiler.h"

namespace onexpu::c_api {

std::string SerializeMemoryPlane(absl::Span<const DeviceProfile> devices);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXTENSIONS_XSPACE_MEMORY_PLANE_H_
