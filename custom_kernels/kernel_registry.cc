#include "custom_kernels/kernel_registry.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "custom_kernels/spirv_binary.h"

namespace onexpu {
namespace {

struct Registry {
  absl::Mutex mutex;
  absl::flat_hash_map<std::string, std::unique_ptr<RegisteredKernel>> kernels
      ABSL_GUARDED_BY(mutex);
};

Registry& ProcessRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

bool SameKernel(const RegisteredKernel& a, const RegisteredKernel& b) {
  return a.spirv == b.spirv && a.scalar_sizes == b.scalar_sizes &&
         a.module->entry_point() == b.module->entry_point();
}

}  // namespace

absl::Status RegisterKernel(absl::string_view key, absl::string_view entry_point,
                            absl::Span<const uint8_t> spirv,
                            absl::Span<const uint32_t> scalar_sizes) {
  if (key.empty()) return absl::InvalidArgumentError("onexpu: a kernel needs a key");
  absl::StatusOr<std::vector<std::string>> names = SpirvEntryPoints(spirv);
  if (!names.ok()) {
    return absl::Status(names.status().code(),
                        absl::StrCat(names.status().message(), " (kernel '", key, "')"));
  }
  if (std::find(names->begin(), names->end(), std::string(entry_point)) == names->end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: kernel '", key, "': the SPIR-V module has no entry point '",
                     entry_point, "'; it has ", absl::StrJoin(*names, ", ")));
  }
  for (uint32_t size : scalar_sizes) {
    if (size != 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: kernel '", key, "' has a scalar argument of 0 bytes"));
  }
  auto kernel = std::make_unique<RegisteredKernel>();
  kernel->key = std::string(key);
  kernel->spirv.assign(spirv.begin(), spirv.end());
  kernel->scalar_sizes.assign(scalar_sizes.begin(), scalar_sizes.end());
  kernel->module = std::make_unique<SpirvModule>(kernel->spirv, std::string(entry_point));

  Registry& registry = ProcessRegistry();
  absl::MutexLock lock(&registry.mutex);
  std::unique_ptr<RegisteredKernel>& entry = registry.kernels[kernel->key];
  if (entry == nullptr) {
    entry = std::move(kernel);
    return absl::OkStatus();
  }
  if (SameKernel(*entry, *kernel)) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("onexpu: key '", key, "' already stands for another kernel"));
}

absl::StatusOr<RegisteredKernel*> FindKernel(absl::string_view key) {
  Registry& registry = ProcessRegistry();
  absl::MutexLock lock(&registry.mutex);
  auto found = registry.kernels.find(key);
  if (found != registry.kernels.end()) return found->second.get();
  return absl::NotFoundError(absl::StrCat(
      "onexpu: no kernel '", key, "' is registered in this process: create the onexpu.sycl_kernel ",
      "that the program was made with before loading it"));
}

}  // namespace onexpu
