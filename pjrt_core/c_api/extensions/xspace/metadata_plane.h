// The plane of the HLO in an XSpace: of each program that ran on the devices. Pure function.
#ifndef PJRT_CORE_C_API_EXTENSIONS_XSPACE_METADATA_PLANE_H_
#define PJRT_CORE_C_API_EXTENSIONS_XSPACE_METADATA_PLANE_H_

#include <string>

#include "absl/types/span.h"
#include "pjrt_core/runtime/profiler.h"

namespace onexpu::c_api {

// Empty if no program ran.
std::string SerializeMetadataPlane(absl::Span<const DeviceProfile> devices);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXTENSIONS_XSPACE_METADATA_PLANE_H_
