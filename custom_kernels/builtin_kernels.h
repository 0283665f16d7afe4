// The FFI handlers that the core brings along: "onexpu.kernel" for registered SPIR-V kernels,
// "onexpu.<name>" for the ops in builtin/.
#ifndef CUSTOM_KERNELS_BUILTIN_KERNELS_H_
#define CUSTOM_KERNELS_BUILTIN_KERNELS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/ffi/api/c_api.h"

namespace onexpu {

struct BuiltinKernel {
  const char* target;         // FFI target name
  const char* tensorflow_op;  // the op that it serves, "" for none
  XLA_FFI_Handler_Bundle bundle;
  std::vector<std::string> dtypes;  // of the operand that decides, as numpy calls them
  const char* attributes;           // "extrapolation_value: f32, method: string"
  const char* summary;
};

// The one list; registration, tests and documents are made from it.
absl::Span<const BuiltinKernel> BuiltinKernels();

// Registers all of them with the runtime behind `api`, which calls `traits` what they all are:
// handlers that do nothing but submit kernels, copies and fills to the queue that they are given.
// At start-up; harmless when repeated.
absl::Status RegisterBuiltinKernels(const XLA_FFI_Api* api, uint32_t traits);

// Kernels that the handlers of this room have launched so far, in this process.
uint64_t CustomKernelLaunches();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_KERNELS_H_
