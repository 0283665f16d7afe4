// Sizes that a kernel counted on the device. A shape of a size that is out of bounds would abort
// the process, so each is checked first.
#ifndef TF_PLUGIN_KERNELS_SUPPORT_DEVICE_COUNT_H_
#define TF_PLUGIN_KERNELS_SUPPORT_DEVICE_COUNT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace onexpu::tf_plugin {

// INTERNAL unless 0 <= count <= limit. Only a kernel that did not run correctly computes such a
// count.
absl::Status CheckCount(const tensorflow::OpKernelContext& context, int64_t count, int64_t limit);

// The same for counts whose sum is limited, too.
absl::Status CheckCounts(const tensorflow::OpKernelContext& context,
                         absl::Span<const int64_t> counts, int64_t limit);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_SUPPORT_DEVICE_COUNT_H_
