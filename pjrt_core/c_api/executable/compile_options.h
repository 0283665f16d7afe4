// What the C API itself needs of a serialized xla.CompileOptionsProto and DeviceAssignmentProto.
//
// The compiler reads the whole of it; this room has no protobuf and reads the few fields that say
// where to load a Program. Pure functions; any thread.
#ifndef PJRT_CORE_C_API_EXECUTABLE_COMPILE_OPTIONS_H_
#define PJRT_CORE_C_API_EXECUTABLE_COMPILE_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onexpu::c_api {

struct LoadOptions {
  // Computation-major, as in the proto: [partition][replica]. Empty when the options assign no
  // devices.
  std::vector<int> device_ids;
  int device_ordinal = -1;
  bool portable = false;  // to be executed on whichever device the caller names
};

// INVALID_ARGUMENT for bytes that are no protocol buffer.
absl::StatusOr<LoadOptions> ReadLoadOptions(absl::string_view compile_options);

// A serialized xla.DeviceAssignmentProto; `device_ids` in partition-major order.
std::string SerializeDeviceAssignment(int num_replicas, int num_partitions,
                                      absl::Span<const int> device_ids);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXECUTABLE_COMPILE_OPTIONS_H_
