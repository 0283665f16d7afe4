// SYCL C++ source to SPIR-V through libsycl-jit, which comes with the SYCL runtime: no compiler has
// to be installed. It does need the C++ headers of the system.
//
// Thread-safe; one compilation at a time. Results are kept on disk, by source, the files that it
// includes (included_files.h), options, names and compiler version.
#ifndef CUSTOM_KERNELS_SYCL_COMPILER_H_
#define CUSTOM_KERNELS_SYCL_COMPILER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "custom_kernels/spirv_binary.h"
#include "pjrt_core/disk_cache/disk_cache.h"

namespace onexpu {

struct SyclSource {
  std::string source;
  std::vector<std::string> options;
  // Of free-function kernels, templates spelled out: "swish<float>".
  std::vector<std::string> kernel_names;
};

// One module with all kernels. What clang says of a wrong source comes back as INVALID_ARGUMENT, in
// full. `cache_directory` (empty: none) is where results and precompiled headers are kept, within
// `limits` for all of the directory. Sets of options share precompiled headers if they differ in
// macros that the headers do not read (header_options.h).
absl::StatusOr<SpirvBinary> CompileSycl(const SyclSource& source,
                                        const std::string& cache_directory,
                                        const CacheLimits& limits = {});

// One module per kernel, in the order of kernel_names; nothing is cached. For kernels that are
// built ahead of time, where a process should only pay for those that it calls.
absl::StatusOr<std::vector<SpirvBinary>> CompileSyclSplit(const SyclSource& source);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_SYCL_COMPILER_H_
