#include "tf_plugin/kernels/support/strided_elements.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {

using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

absl::StatusOr<Numbers> ToNumbers(const Tensor& tensor) {
  Numbers numbers;
  numbers.reserve(tensor.NumElements());
  switch (tensor.dtype()) {
    case tensorflow::DT_INT32:
      for (int64_t i = 0; i < tensor.NumElements(); ++i) {
        numbers.push_back(tensor.flat<int32_t>()(i));
      }
      return numbers;
    case tensorflow::DT_INT64:
      for (int64_t i = 0; i < tensor.NumElements(); ++i) {
        numbers.push_back(tensor.flat<int64_t>()(i));
      }
      return numbers;
    default:
      return absl::InvalidArgumentError("begin and size must be either int32 or int64");
  }
}

std::optional<int> FindDimension(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Numbers StridesOf(const TensorShape& shape) {
  Numbers strides(shape.dims());
  int64_t stride = 1;
  for (int d = shape.dims() - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= shape.dim_size(d);
  }
  return strides;
}

StridedElements StridedElements::Of(const TensorShape& shape, Numbers sizes,
                                    absl::Span<const int64_t> begin,
                                    absl::Span<const int64_t> steps) {
  StridedElements elements{std::move(sizes), StridesOf(shape)};
  for (int d = 0; d < shape.dims(); ++d) {
    elements.offset += elements.strides[d] * begin[d];
    elements.strides[d] *= steps[d];
  }
  return elements;
}

StridedElements StridedElements::Squeezed() const {
  StridedElements squeezed{.offset = offset};
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    squeezed.sizes.push_back(sizes[d]);
    squeezed.strides.push_back(strides[d]);
  }
  return squeezed;
}

absl::StatusOr<OwnedBuffer> StridedElements::Launch(const tensorflow::OpKernelContext& context,
                                                    absl::string_view handler, PJRT_Buffer* operand,
                                                    const ResultType& result) const {
  FfiAttributes attributes;
  attributes.Add("offset", offset).Add("sizes", sizes).Add("strides", strides);
  TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> results,
                      tf_plugin::Launch(context, handler, {operand}, {result}, attributes.Build()));
  return std::move(results.front());
}

}  // namespace onexpu::tf_plugin
