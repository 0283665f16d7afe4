// SPIR-V kernels that callers registered, by key. They are called through the FFI target
// "onexpu.kernel"; its attributes are documented in pjrt_core/c_api/extensions/launch.h.
//
// One registry per process, because a key in a compiled program must mean the same everywhere.
// Thread-safe. A kernel stays registered to the end of the process: programs that call it may be
// loaded at any time.
#ifndef CUSTOM_KERNELS_KERNEL_REGISTRY_H_
#define CUSTOM_KERNELS_KERNEL_REGISTRY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "custom_kernels/spirv_module.h"

namespace onexpu {

struct RegisteredKernel {
  std::string key;
  std::vector<uint32_t> scalar_sizes;   // bytes, in the order of the kernel's scalar arguments
  std::unique_ptr<SpirvModule> module;  // kernels of the same SPIR-V are built together
};

// INVALID_ARGUMENT unless `spirv` is a SPIR-V module with that entry point; ALREADY_EXISTS when the
// key stands for another kernel. Registering the same kernel again is fine.
absl::Status RegisterKernel(absl::string_view key, absl::string_view entry_point,
                            absl::Span<const uint8_t> spirv,
                            absl::Span<const uint32_t> scalar_sizes);

absl::StatusOr<RegisteredKernel*> FindKernel(absl::string_view key);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_KERNEL_REGISTRY_H_
