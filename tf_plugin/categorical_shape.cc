#include "tf_plugin/categorical_shape.h"

#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace onexpu::tf_plugin {

using ::tensorflow::TensorShape;

absl::StatusOr<TensorShape> CategoricalShape(const TensorShape& logits, int64_t samples) {
  if (logits.dims() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("logits should be a matrix, got shape ", logits.DebugString()));
  }
  if (samples < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_samples should be non-negative, got ", samples));
  }
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (logits.dim_size(0) > kMost) {
    return absl::InvalidArgumentError("batch_size cannot exceed max int");
  }
  if (logits.dim_size(1) > kMost) {
    return absl::InvalidArgumentError("num_classes cannot exceed max int");
  }
  if (logits.dim_size(1) == 0) {
    return absl::InvalidArgumentError("num_classes should be positive, got 0");
  }
  return TensorShape({logits.dim_size(0), samples});
}

}  // namespace onexpu::tf_plugin
