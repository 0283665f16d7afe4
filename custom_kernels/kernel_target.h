// The FFI target "onexpu.kernel": launches a registered SPIR-V kernel on the operands' and results'
// memory.
#ifndef CUSTOM_KERNELS_KERNEL_TARGET_H_
#define CUSTOM_KERNELS_KERNEL_TARGET_H_

#include <cstdint>

#include "absl/status/status.h"
#include "xla/ffi/api/c_api.h"

namespace onexpu {

inline constexpr char kKernelTarget[] = "onexpu.kernel";

// Registers the state type that the handlers keep; before the handlers themselves.
absl::Status RegisterKernelTargetTypes(const XLA_FFI_Api* api);
XLA_FFI_Handler_Bundle KernelTargetHandlers();

// Of all handlers of this room, in this process.
void CountKernelLaunch();
uint64_t KernelLaunches();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_KERNEL_TARGET_H_
