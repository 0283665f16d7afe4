#include "tf_plugin/translations/linear_algebra/lu_factors.h"

#include "absl/strings/str_cat.h"
#include "xla/shape_util.h"

namespace onexpu::tf_plugin {

using ::tensorflow::TensorShape;

absl::Status CheckSquare(const TensorShape& shape) {
  const int rank = shape.dims();
  if (rank < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input must have rank >= 2, got ", shape.DebugString()));
  }
  if (shape.dim_size(rank - 1) == shape.dim_size(rank - 2)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Input matrices must be squares, got ", shape.DebugString()));
}

std::vector<int64_t> ShapeOfRows(const TensorShape& shape) {
  const auto sizes = shape.dim_sizes();
  return std::vector<int64_t>(sizes.begin(), sizes.end() - 1);
}

Factors Factorize(xla::XlaOp matrix, const TensorShape& shape, xla::PrimitiveType type) {
  const xla::Shape numbers = xla::ShapeUtil::MakeShape(xla::S32, ShapeOfRows(shape));
  const xla::XlaOp call =
      xla::CustomCall(matrix.builder(), "LuDecomposition", {matrix},
                      xla::ShapeUtil::MakeTupleShape(
                          {xla::ShapeUtil::MakeShape(type, shape.dim_sizes()), numbers, numbers}));
  return {xla::GetTupleElement(call, 0), xla::GetTupleElement(call, 1),
          xla::GetTupleElement(call, 2)};
}

}  // namespace onexpu::tf_plugin
