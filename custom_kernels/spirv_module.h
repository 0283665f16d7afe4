// SPIR-V modules and the kernels that are built from them, once per SYCL context.
//
// Shared; thread-safe. Kernels are built when first asked for, and kept as long as the module.
#ifndef CUSTOM_KERNELS_SPIRV_MODULE_H_
#define CUSTOM_KERNELS_SPIRV_MODULE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "sycl/sycl.hpp"

namespace onexpu {

// The kernels of a module that is built, by their entry points; keeps it. May throw what SYCL
// throws.
using BuiltKernels = std::function<absl::StatusOr<sycl::kernel>(const std::string& entry_point)>;

// Builds a module for the device of a queue.
using SpirvBuilder = absl::StatusOr<BuiltKernels> (*)(const sycl::queue& queue,
                                                      absl::Span<const uint8_t> spirv);

// Who builds from now on. The core sets one that keeps native binaries on disk; without it SYCL
// builds, in every process anew.
void SetSpirvBuilder(SpirvBuilder builder);

// What kernels are built for: several devices may share a context.
struct KernelHome {
  sycl::context context;
  sycl::device device;
  explicit KernelHome(const sycl::queue& queue)
      : context(queue.get_context()), device(queue.get_device()) {}
  bool operator==(const KernelHome& other) const {
    return context == other.context && device == other.device;
  }
};

// A module as a device builds it: all of its kernels at once.
class SpirvBuild {
 public:
  // `spirv` must outlive this (what is embedded in the library does).
  explicit SpirvBuild(absl::Span<const uint8_t> spirv) : spirv_(spirv) {}

  absl::Span<const uint8_t> spirv() const { return spirv_; }

  // The pointer stays valid as long as this. UNIMPLEMENTED for what the device lacks, INTERNAL with
  // its compiler's words for what it refuses.
  absl::StatusOr<const BuiltKernels*> For(const sycl::queue& queue);

 private:
  absl::Span<const uint8_t> spirv_;
  absl::Mutex mutex_;
  std::vector<std::pair<KernelHome, const BuiltKernels*>> built_ ABSL_GUARDED_BY(mutex_);
};

class SpirvModule {
 public:
  SpirvModule(absl::Span<const uint8_t> spirv, std::string entry_point)
      : SpirvModule(std::make_shared<SpirvBuild>(spirv), std::move(entry_point)) {}
  // A kernel of several in one module.
  SpirvModule(std::shared_ptr<SpirvBuild> build, std::string entry_point)
      : build_(std::move(build)), entry_point_(std::move(entry_point)) {}

  const std::string& entry_point() const { return entry_point_; }
  absl::Span<const uint8_t> spirv() const { return build_->spirv(); }

  // The pointer stays valid as long as the module.
  absl::StatusOr<const sycl::kernel*> Kernel(const sycl::queue& queue);

 private:
  std::shared_ptr<SpirvBuild> build_;
  std::string entry_point_;
  absl::Mutex mutex_;
  std::vector<std::pair<KernelHome, const sycl::kernel*>> kernels_ ABSL_GUARDED_BY(mutex_);
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
