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

// SPIR-V that kernels came with, and what is built from it.
struct OwnedSpirv {
  explicit OwnedSpirv(absl::Span<const uint8_t> spirv)
      : bytes(spirv.begin(), spirv.end()), build(bytes) {}

  const std::vector<uint8_t> bytes;
  SpirvBuild build;
};

struct Registry {
  absl::Mutex mutex;
  // By its bytes, in which the keys lie.
  absl::flat_hash_map<absl::string_view, std::shared_ptr<OwnedSpirv>> modules
      ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<std::string, std::unique_ptr<RegisteredKernel>> kernels
      ABSL_GUARDED_BY(mutex);
};

Registry& ProcessRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

absl::string_view Text(absl::Span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool SameKernel(const RegisteredKernel& a, const RegisteredKernel& b) {
  return a.module->spirv() == b.module->spirv() && a.scalar_sizes == b.scalar_sizes &&
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
  kernel->scalar_sizes.assign(scalar_sizes.begin(), scalar_sizes.end());

  Registry& registry = ProcessRegistry();
  absl::MutexLock lock(&registry.mutex);
  auto known = registry.modules.find(Text(spirv));
  if (known == registry.modules.end()) {
    auto owned = std::make_shared<OwnedSpirv>(spirv);
    known = registry.modules.emplace(Text(owned->bytes), owned).first;
  }
  kernel->module = std::make_unique<SpirvModule>(
      std::shared_ptr<SpirvBuild>(known->second, &known->second->build), std::string(entry_point));
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
      "onexpu: no kernel '", key,
      "' is registered in this process. The program was made with it in ",
      "another one: before loading the program, define the same onexpu.sycl_kernel "
      "here and compile ",
      "it for the types in angle brackets, as in kernel.spirv('float32'); if an attribute "
      "was a traced value, describe the call, as in onexpu.lowered(kernel, x, "
      "beta=jax.ShapeDtypeStruct((), 'float32'))"));
}

}  // namespace onexpu
