#include "tf_plugin/xla_backend/dynamic_operands.h"

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/compiler/tf2xla/xla_expression.h"
#include "tensorflow/core/framework/types.h"

namespace onexpu::tf_plugin {

using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::XlaExpression;

std::optional<xla::Shape> BoundedShape(const Tensor& tensor) {
  const XlaExpression& operand = *XlaExpression::CastExpressionFromTensor(tensor);
  if (operand.kind() != XlaExpression::Kind::kXlaOp &&
      operand.kind() != XlaExpression::Kind::kConstant) {
    return std::nullopt;
  }
  const absl::StatusOr<xla::Shape> shape = operand.GetXlaShape();
  if (!shape.ok() || !shape->IsArray()) return std::nullopt;
  return *shape;
}

std::optional<xla::Shape> DynamicShape(const Tensor& tensor) {
  std::optional<xla::Shape> shape = BoundedShape(tensor);
  if (shape.has_value() && shape->is_static()) return std::nullopt;
  return shape;
}

std::optional<DiagonalRange> ReadDiagonals(OpKernelContext& context) {
  const absl::string_view op = context.op_kernel().type_string();
  if (!absl::EndsWith(op, "V2") && !absl::EndsWith(op, "V3")) return DiagonalRange{0, 0};
  const int operand = absl::StartsWith(op, "MatrixSetDiag") ? 2 : 1;
  const std::optional<Tensor> k =
      XlaExpression::CastExpressionFromTensor(context.input(operand))->constant_value();
  if (!k.has_value() || k->dtype() != tensorflow::DT_INT32 || k->NumElements() == 0) {
    return std::nullopt;
  }
  const auto diagonals = k->flat<int32_t>();
  return DiagonalRange{diagonals(0), diagonals(k->NumElements() - 1)};
}

absl::Status UnknownSize(OpKernelContext& context, int operand, const xla::Shape& shape,
                         int64_t dimension) {
  return absl::UnimplementedError(absl::StrCat(
      "onexpu: ", context.op_kernel().type_string(),
      " with jit_compile=True: the size of dimension ", dimension, " of operand ", operand, ", ",
      shape.ToString(), ", is known only at run time (", context.op_kernel().name(),
      "). Call the op outside of the compiled function, or pad the operand to a known size"));
}

}  // namespace onexpu::tf_plugin
