#include "tf_plugin/kernels/support/device_count.h"

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/device_base.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {

using ::tensorflow::OpKernelContext;

absl::Status CheckCount(const OpKernelContext& context, int64_t count, int64_t limit) {
  if (count >= 0 && count <= limit) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      "onexpu: ", context.op_kernel().type_string(), ": a kernel counted ", count,
      " elements, which is not between 0 and ", limit, " (", context.device()->name(),
      "). The device or its driver computes wrong results: update the driver, and report it."));
}

absl::Status CheckCounts(const OpKernelContext& context, absl::Span<const int64_t> counts,
                         int64_t limit) {
  int64_t left = limit;
  for (const int64_t count : counts) {
    TF_RETURN_IF_ERROR(CheckCount(context, count, left));
    left -= count;
  }
  return absl::OkStatus();
}

}  // namespace onexpu::tf_plugin
