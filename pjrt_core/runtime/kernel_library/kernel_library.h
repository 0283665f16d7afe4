// SPIR-V modules built for one device: once per process, from the disk cache when it has the native
// binary.
//
// Owned by the device; thread-safe. The thread that loads a Program waits for its modules to be
// built: for the CPU device in processes of their own, several at once (native_build/), for others
// in this process, up to BuildMonitor::max_parallel() at once. A module stays built as long as
// a reference to it exists. Two threads that load the same module build it once.
#ifndef PJRT_CORE_RUNTIME_KERNEL_LIBRARY_KERNEL_LIBRARY_H_
#define PJRT_CORE_RUNTIME_KERNEL_LIBRARY_KERNEL_LIBRARY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "pjrt_core/runtime/kernel_library/binary_cache.h"
#include "sycl/sycl.hpp"

namespace onexpu {

// Options of the CPU driver's compiler; they decide what its native binaries are.
inline constexpr char kDriverOptionsVariable[] = "CL_CONFIG_LLVM_OPTIONS";

// How kernels compute addresses.
enum class Addressing {
  kUsual = 0,
  kLargeBuffers = 1,  // more than the device's largest single allocation through one pointer
};

// A module that is built. Immutable; thread-safe.
class KernelModule {
 public:
  virtual ~KernelModule() = default;
  // NOT_FOUND when the module has no such entry point.
  virtual absl::StatusOr<sycl::kernel> Kernel(const std::string& entry_point) const = 0;
};

class KernelLibrary {
 public:
  struct Counts {
    int built = 0;       // by the device's compiler
    int in_child = 0;    // of those, in a process of its own
    int from_cache = 0;  // from a native binary on disk
    int shared = 0;      // already there
  };

  // With `exact_division`, f32 divisions and square roots are correctly rounded on GPUs; on a CPU
  // they always are. `builder` is the path of onexpu-build; without one, the CPU's modules are
  // built in this process. The cache directory is kept within `cache_limits`.
  static std::shared_ptr<KernelLibrary> Create(
      const sycl::device& device, const sycl::context& context, const std::string& cache_directory,
      std::string builder, const CacheLimits& cache_limits = {}, bool exact_division = false);

  // The one that a client of this process has for the device in this context, or none.
  static std::shared_ptr<KernelLibrary> Find(const sycl::device& device,
                                             const sycl::context& context);

  // INTERNAL with the device compiler's log when the module does not build.
  absl::StatusOr<std::shared_ptr<const KernelModule>> Load(
      absl::Span<const uint8_t> spirv, Addressing addressing = Addressing::kUsual);

  // Several at once. `describe` receives the index of a module that failed to build and the log,
  // and returns the module's description for the error.
  using Describe = absl::FunctionRef<std::string(size_t module, absl::string_view log)>;
  absl::StatusOr<std::vector<std::shared_ptr<const KernelModule>>> LoadAll(
      absl::Span<const absl::Span<const uint8_t>> modules, Describe describe,
      Addressing addressing = Addressing::kUsual);

  // A program is being compiled that will be loaded: lets what is slow to start begin.
  void Prepare();

  Counts counts() const;

 private:
  struct Entry {
    absl::Mutex mutex;  // held while building
    std::weak_ptr<const KernelModule> module;
  };

  KernelLibrary(sycl::device device, sycl::context context, BinaryCache cache, std::string builder)
      : device_(std::move(device)),
        context_(std::move(context)),
        cache_(std::move(cache)),
        builder_(std::move(builder)) {}

  absl::StatusOr<std::shared_ptr<const KernelModule>> LoadOne(absl::Span<const uint8_t> spirv,
                                                              Addressing addressing);
  absl::StatusOr<std::shared_ptr<const KernelModule>> Build(absl::Span<const uint8_t> spirv,
                                                            Addressing addressing);
  absl::StatusOr<std::shared_ptr<const KernelModule>> BuildOpenCl(absl::Span<const uint8_t> spirv);
  absl::StatusOr<std::shared_ptr<const KernelModule>> BuildBundle(absl::Span<const uint8_t> spirv,
                                                                  Addressing addressing);
  // The native binary; nothing when no other process can build it.
  absl::StatusOr<std::optional<std::vector<uint8_t>>> BuildInChild(absl::Span<const uint8_t> spirv);
  void Count(int Counts::* counter);

  const sycl::device device_;
  const sycl::context context_;
  const BinaryCache cache_;
  const std::string builder_;
  bool exact_division_ = false;  // set before the library is shared
  mutable absl::Mutex mutex_;
  // By addressing, then by the module's bytes.
  std::array<absl::flat_hash_map<std::string, std::shared_ptr<Entry>>, 2> modules_
      ABSL_GUARDED_BY(mutex_);
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_KERNEL_LIBRARY_KERNEL_LIBRARY_H_
