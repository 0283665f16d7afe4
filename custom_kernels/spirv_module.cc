#include "custom_kernels/spirv_module.h"

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace onexpu {
namespace {

namespace syclexp = sycl::ext::oneapi::experimental;

sycl::kernel Build(const sycl::queue& queue, absl::Span<const uint8_t> spirv,
                   const std::string& entry_point) {
  std::vector<std::byte> bytes(spirv.size());
  std::memcpy(bytes.data(), spirv.data(), spirv.size());
  auto source = syclexp::create_kernel_bundle_from_source(queue.get_context(),
                                                          syclexp::source_language::spirv, bytes);
  return syclexp::build(source, std::vector<sycl::device>{queue.get_device()})
      .ext_oneapi_get_kernel(entry_point);
}

}  // namespace

absl::StatusOr<const sycl::kernel*> SpirvModule::Kernel(const sycl::queue& queue) {
  const sycl::context context = queue.get_context();
  absl::MutexLock lock(&mutex_);
  for (const auto& [known, kernel] : kernels_) {
    if (known == context) return kernel;
  }
  try {
    // Never freed: SYCL objects must not be destroyed after the SYCL runtime, and modules live to
    // the end of the process.
    kernels_.emplace_back(context, new sycl::kernel(Build(queue, spirv_, entry_point_)));
  } catch (const sycl::exception& error) {
    return absl::InternalError(absl::StrCat("onexpu: kernel ", entry_point_,
                                            " does not build for this device: ", error.what()));
  }
  return kernels_.back().second;
}

}  // namespace onexpu
