// A SPIR-V module and the kernels that are built from it, once per SYCL context.
//
// Shared; thread-safe. Kernels are built when first asked for, and kept as long as the module.
#ifndef CUSTOM_KERNELS_SPIRV_MODULE_H_
#define CUSTOM_KERNELS_SPIRV_MODULE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "sycl/sycl.hpp"

namespace onexpu {

class SpirvModule {
 public:
  // `spirv` must outlive the module (what is embedded in the library does).
  SpirvModule(absl::Span<const uint8_t> spirv, std::string entry_point)
      : spirv_(spirv), entry_point_(std::move(entry_point)) {}

  const std::string& entry_point() const { return entry_point_; }
  absl::Span<const uint8_t> spirv() const { return spirv_; }

  // The pointer stays valid as long as the module.
  absl::StatusOr<const sycl::kernel*> Kernel(const sycl::queue& queue);

 private:
  absl::Span<const uint8_t> spirv_;
  std::string entry_point_;
  absl::Mutex mutex_;
  std::vector<std::pair<sycl::context, const sycl::kernel*>> kernels_ ABSL_GUARDED_BY(mutex_);
};

// What one SPIR-V module of the build contains (sycl_kernels.bzl generates these).
struct EmbeddedKernel {
  const char* name;         // as the BUILD file calls it
  const char* entry_point;  // in the module
  const uint8_t* spirv;
  size_t spirv_size;
};

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_SPIRV_MODULE_H_
