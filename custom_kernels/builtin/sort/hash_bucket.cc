#include "custom_kernels/builtin/sort/hash_bucket.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/launch_kernel.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> HashBucketKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

const KernelTable& Kernels() {
  static const auto* const table = new KernelTable(HashBucketKernels(), "hash_bucket");
  return *table;
}

absl::Status Hash(sycl::queue& queue, const ffi::AnyBuffer& values, const ffi::AnyBuffer& result,
                  int64_t buckets) {
  SpirvModule* const kernel = Kernels().Find(values.element_type());
  if (kernel == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: hash_bucket has no kernel for ", DescribeBuffer(values)));
  }
  if (result.element_type() != ffi::S64 || result.element_count() != values.element_count() ||
      buckets < 1) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: ", buckets, " buckets of ",
                                                   DescribeBuffer(values), " are not ",
                                                   DescribeBuffer(result)));
  }
  return LaunchKernel(queue, *kernel, {.global = values.element_count()}, values.untyped_data(),
                      result.untyped_data(), buckets);
}

}  // namespace

XLA_FFI_Error* HashBucketHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Hash, 1>(frame, "buckets");
}

std::vector<std::string> HashBucketTypes() { return Kernels().TypeNames(); }

}  // namespace onexpu
