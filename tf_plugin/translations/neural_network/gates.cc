#include "tf_plugin/translations/neural_network/gates.h"

#include "absl/strings/str_cat.h"
#include "xla/hlo/builder/lib/constants.h"

namespace onexpu::tf_plugin {

using ::tensorflow::TensorShape;
using ::xla::ScalarLike;
using ::xla::XlaOp;

XlaOp Columns(XlaOp matrix, int64_t first, int64_t count) {
  return xla::SliceInDim(matrix, first, first + count, 1, 1);
}
XlaOp SideBySide(absl::Span<const XlaOp> matrices) {
  return xla::ConcatInDim(matrices[0].builder(), matrices, 1);
}
XlaOp OnRows(XlaOp matrix, XlaOp vector) { return xla::Add(matrix, vector, {1}); }
XlaOp TimesOnRows(XlaOp matrix, XlaOp vector) { return xla::Mul(matrix, vector, {1}); }

XlaOp SigmoidSlope(XlaOp y) { return y * (ScalarLike(y, 1) - y); }
XlaOp TanhSlope(XlaOp y) { return ScalarLike(y, 1) - y * y; }

absl::Status CheckRank(absl::string_view name, const TensorShape& shape, int rank) {
  if (shape.dims() == rank) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must have rank ", rank, ", but has shape ", shape.DebugString()));
}

}  // namespace onexpu::tf_plugin
