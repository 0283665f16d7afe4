// SYCL C++ source to SPIR-V through libsycl-jit, which comes with the SYCL runtime: no compiler has to be installed. It does
// need the C++ headers of the system.
//
// Thread-safe; one compilation at a time. Results are kept on disk (ONEXPU_CACHE_DIR, else the user's cache directory), by
// source, options, names and compiler version.
#ifndef CUSTOM_KERNELS_SYCL_COMPILER_H_
#define CUSTOM_KERNELS_SYCL_COMPILER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace onexpu {

struct SyclSource {
  std::string source;
  std::vector<std::string> options;
  std::vector<std::string> kernel_names;  // of free-function kernels, templates spelled out: "swish<float>"
};

struct SpirvBinary {
  std::vector<uint8_t> spirv;
  std::vector<std::string> entry_points;  // in the order of kernel_names
};

// One module with all kernels. What clang says of a wrong source comes back as INVALID_ARGUMENT, in full.
absl::StatusOr<SpirvBinary> CompileSycl(const SyclSource& source);

// One module per kernel, in the order of kernel_names; nothing is cached. For kernels that are built ahead of time, where
// a process should only pay for those that it calls.
absl::StatusOr<std::vector<SpirvBinary>> CompileSyclSplit(const SyclSource& source);

// What comes before a kernel's source: SYCL, ONEXPU_KERNEL and the helpers of namespace onexpu. `name` and line 1 are what
// diagnostics say of the source that follows.
std::string KernelPreamble(const std::string& name);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_SYCL_COMPILER_H_
