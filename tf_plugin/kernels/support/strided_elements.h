// Elements of an array at equal distances, for the handlers of
// custom_kernels/builtin/shape/strided_slice.h.
#ifndef TF_PLUGIN_KERNELS_SUPPORT_STRIDED_ELEMENTS_H_
#define TF_PLUGIN_KERNELS_SUPPORT_STRIDED_ELEMENTS_H_

#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"

namespace onexpu::tf_plugin {

using Numbers = absl::InlinedVector<int64_t, 4>;

// The elements of a tensor of int32 or int64 in host memory, INVALID_ARGUMENT for other types.
absl::StatusOr<Numbers> ToNumbers(const tensorflow::Tensor& tensor);

// The number of a dimension that may count from the end; nothing if there is none.
std::optional<int> FindDimension(int64_t axis, int rank);

// From one element to the next along each dimension of a row-major array, in elements.
Numbers StridesOf(const tensorflow::TensorShape& shape);

struct StridedElements {
  Numbers sizes, strides;
  int64_t offset = 0;

  // Of an array of `shape`, `sizes[d]` from `begin[d]` on, `steps[d]` apart.
  static StridedElements Of(const tensorflow::TensorShape& shape, Numbers sizes,
                            absl::Span<const int64_t> begin, absl::Span<const int64_t> steps);

  // Without the dimensions of one element.
  StridedElements Squeezed() const;

  // `handler` is "onexpu.strided_slice" or "onexpu.strided_slice_grad".
  absl::StatusOr<OwnedBuffer> Launch(const tensorflow::OpKernelContext& context,
                                     absl::string_view handler, PJRT_Buffer* operand,
                                     const ResultType& result) const;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_SUPPORT_STRIDED_ELEMENTS_H_
