#include "tf_plugin/core/random_arguments.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/types.pb.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {

using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

namespace {

template <typename T>
absl::StatusOr<IntegerRange> RangeOf(const Tensor& low, const Tensor& high) {
  const T least = low.scalar<T>()(), end = high.scalar<T>()();
  if (least < end) return IntegerRange{static_cast<int64_t>(least), static_cast<int64_t>(end)};
  return absl::InvalidArgumentError(absl::StrCat("Need minval < maxval, got ", least, " >= ", end));
}

}  // namespace

absl::StatusOr<TensorShape> CategoricalShape(const TensorShape& logits, int64_t samples) {
  if (logits.dims() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("logits should be a matrix, got shape ", logits.DebugString()));
  }
  if (samples < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_samples should be non-negative, got ", samples));
  }
  constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();
  if (logits.dim_size(0) > kMaxInt32) {
    return absl::InvalidArgumentError("batch_size cannot exceed max int");
  }
  if (logits.dim_size(1) > kMaxInt32) {
    return absl::InvalidArgumentError("num_classes cannot exceed max int");
  }
  if (logits.dim_size(1) == 0) {
    return absl::InvalidArgumentError("num_classes should be positive, got 0");
  }
  return TensorShape({logits.dim_size(0), samples});
}

absl::Status CheckBoundShapes(const TensorShape& low, const TensorShape& high) {
  for (const TensorShape* const shape : {&low, &high}) {
    if (shape->dims() == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("minval and maxval must be scalars, got shape ", shape->DebugString()));
  }
  return absl::OkStatus();
}

absl::StatusOr<IntegerRange> IntegerRangeOf(const Tensor& low, const Tensor& high) {
  TF_RETURN_IF_ERROR(CheckBoundShapes(low.shape(), high.shape()));
  switch (low.dtype()) {
    case tensorflow::DT_INT32:
      return RangeOf<int32_t>(low, high);
    case tensorflow::DT_INT64:
      return RangeOf<int64_t>(low, high);
    case tensorflow::DT_UINT32:
      return RangeOf<uint32_t>(low, high);
    default:
      return RangeOf<uint64_t>(low, high);
  }
}

}  // namespace onexpu::tf_plugin
