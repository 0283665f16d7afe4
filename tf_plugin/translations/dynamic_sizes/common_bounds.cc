#include "tf_plugin/translations/dynamic_sizes/common_bounds.h"

#include <cstdint>

#include "xla/shape.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::xla::XlaOp;

void Bound(XlaOp& x, int64_t dimension, int64_t bound) {
  const XlaOp size = xla::GetDimensionSize(x, dimension);
  x = xla::SetDimensionSize(xla::SliceInDim(x, 0, bound, 1, dimension), size, dimension);
}

}  // namespace

absl::Status UseCommonBounds(XlaOp& x, XlaOp& y) {
  TF_ASSIGN_OR_RETURN(const xla::Shape x_shape, x.builder()->GetShape(x));
  TF_ASSIGN_OR_RETURN(const xla::Shape y_shape, x.builder()->GetShape(y));
  if (x_shape.dimensions().size() != y_shape.dimensions().size()) return absl::OkStatus();
  for (int64_t d = 0; d < static_cast<int64_t>(x_shape.dimensions().size()); ++d) {
    const int64_t x_size = x_shape.dimensions(d), y_size = y_shape.dimensions(d);
    if (x_size > y_size && x_shape.is_dynamic_dimension(d)) Bound(x, d, y_size);
    if (y_size > x_size && y_shape.is_dynamic_dimension(d)) Bound(y, d, x_size);
  }
  return absl::OkStatus();
}

}  // namespace onexpu::tf_plugin
