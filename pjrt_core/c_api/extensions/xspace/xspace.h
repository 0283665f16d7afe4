// What the devices did, as the message that frameworks' profilers collect: tensorflow.profiler
// .XSpace (tsl/profiler/protobuf/xplane.proto). Each plane has a file. Pure function.
#ifndef PJRT_CORE_C_API_EXTENSIONS_XSPACE_XSPACE_H_
#define PJRT_CORE_C_API_EXTENSIONS_XSPACE_XSPACE_H_

#include <string>

#include "absl/types/span.h"
#include "pjrt_core/runtime/profiler.h"

namespace onexpu::c_api {

// One plane per device and one line per queue, serialized.
std::string SerializeXSpace(absl::Span<const DeviceProfile> devices);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXTENSIONS_XSPACE_XSPACE_H_
