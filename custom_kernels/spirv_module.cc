#include "custom_kernels/spirv_module.h"

#include <atomic>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "custom_kernels/device_support.h"
#include "custom_kernels/hidden_negations.h"
#include "pjrt_core/target/sycl_target.h"

namespace onexpu {
namespace {

namespace syclexp = sycl::ext::oneapi::experimental;

absl::StatusOr<BuiltKernels> BuildBySycl(const sycl::queue& queue,
                                         absl::Span<const uint8_t> spirv) {
  std::vector<std::byte> bytes(spirv.size());
  std::memcpy(bytes.data(), spirv.data(), spirv.size());
  auto source = syclexp::create_kernel_bundle_from_source(queue.get_context(),
                                                          syclexp::source_language::spirv, bytes);
  return [bundle = syclexp::build(source, std::vector<sycl::device>{queue.get_device()})](
             const std::string& entry_point) mutable -> absl::StatusOr<sycl::kernel> {
    return bundle.ext_oneapi_get_kernel(entry_point);
  };
}

std::atomic<SpirvBuilder> spirv_builder{BuildBySycl};

}  // namespace

void SetSpirvBuilder(SpirvBuilder builder) { spirv_builder = builder; }

absl::StatusOr<const BuiltKernels*> SpirvBuild::For(const sycl::queue& queue) {
  const KernelHome home(queue);
  absl::MutexLock lock(&mutex_);
  for (const auto& [known, built] : built_) {
    if (known == home) return built;
  }
  absl::Status supported = CheckDeviceSupport(queue.get_device(), spirv_);
  if (!supported.ok()) return supported;
  std::optional<std::vector<uint8_t>> rewritten;
  if (MiscompilesNegations(queue.get_device())) rewritten = WithHiddenNegations(spirv_);
  absl::StatusOr<BuiltKernels> built = spirv_builder.load()(
      queue, rewritten.has_value() ? absl::Span<const uint8_t>(*rewritten) : spirv_);
  if (!built.ok()) return built.status();
  // Never freed: SYCL objects must not be destroyed after the SYCL runtime, and modules live to
  // the end of the process.
  built_.emplace_back(home, new BuiltKernels(*std::move(built)));
  return built_.back().second;
}

absl::StatusOr<const sycl::kernel*> SpirvModule::Kernel(const sycl::queue& queue) {
  const KernelHome home(queue);
  absl::MutexLock lock(&mutex_);
  for (const auto& [known, kernel] : kernels_) {
    if (known == home) return kernel;
  }
  try {
    absl::StatusOr<const BuiltKernels*> built = build_->For(queue);
    absl::StatusOr<sycl::kernel> kernel =
        built.ok() ? (**built)(entry_point_) : absl::StatusOr<sycl::kernel>(built.status());
    if (!kernel.ok()) {
      return absl::Status(kernel.status().code(), absl::StrCat("onexpu: kernel ", entry_point_, " ",
                                                               kernel.status().message()));
    }
    kernels_.emplace_back(home, new sycl::kernel(*std::move(kernel)));
  } catch (const sycl::exception& error) {
    return absl::InternalError(absl::StrCat("onexpu: kernel ", entry_point_,
                                            " does not build for this device: ", error.what()));
  }
  return kernels_.back().second;
}

}  // namespace onexpu
