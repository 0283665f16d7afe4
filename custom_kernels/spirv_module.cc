#include "custom_kernels/spirv_module.h"

#include <atomic>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace onexpu {
namespace {

namespace syclexp = sycl::ext::oneapi::experimental;

absl::StatusOr<std::vector<sycl::kernel>> BuildWithSycl(
    const sycl::queue& queue, absl::Span<const uint8_t> spirv,
    absl::Span<const std::string> entry_points) {
  std::vector<std::byte> bytes(spirv.size());
  std::memcpy(bytes.data(), spirv.data(), spirv.size());
  auto source = syclexp::create_kernel_bundle_from_source(queue.get_context(),
                                                          syclexp::source_language::spirv, bytes);
  auto executable = syclexp::build(source, std::vector<sycl::device>{queue.get_device()});
  std::vector<sycl::kernel> kernels;
  for (const std::string& name : entry_points) {
    kernels.push_back(executable.ext_oneapi_get_kernel(name));
  }
  return kernels;
}

std::atomic<SpirvModule::Builder> builder{BuildWithSycl};

}  // namespace

void SpirvModule::SetBuilder(Builder replacement) { builder.store(replacement); }

absl::StatusOr<const sycl::kernel*> SpirvModule::Kernel(const sycl::queue& queue) {
  const sycl::context context = queue.get_context();
  absl::MutexLock lock(&mutex_);
  for (const auto& [known, kernel] : kernels_) {
    if (known == context) return kernel;
  }
  absl::StatusOr<std::vector<sycl::kernel>> built =
      builder.load()(queue, spirv_, absl::MakeConstSpan(&entry_point_, 1));
  if (!built.ok()) {
    return absl::Status(built.status().code(), absl::StrCat("onexpu: kernel ", entry_point_, ": ",
                                                            built.status().message()));
  }
  // Never freed: SYCL objects must not be destroyed after the SYCL runtime, and modules live to the
  // end of the process.
  kernels_.emplace_back(context, new sycl::kernel(std::move(built->front())));
  return kernels_.back().second;
}

}  // namespace onexpu
