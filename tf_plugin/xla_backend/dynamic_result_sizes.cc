#include "tf_plugin/xla_backend/dynamic_result_sizes.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "tensorflow/compiler/tf2xla/xla_expression.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/tensor.h"
#include "tf_plugin/xla_backend/dynamic_operands.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::XlaExpression;
using ::xla::XlaOp;

// A dimension of the results that has the size of a dimension of an operand.
struct Shared {
  int operand;
  int64_t of_operand, of_result;
};

std::vector<Shared> Leading(int64_t count) {
  std::vector<Shared> shared;
  for (int64_t d = 0; d < count; ++d) shared.push_back({0, d, d});
  return shared;
}

using Dimensions = absl::StatusOr<std::vector<Shared>> (*)(OpKernelContext& context, int64_t rank);

absl::StatusOr<std::vector<Shared>> AllDimensions(OpKernelContext&, int64_t rank) {
  return Leading(rank);
}

absl::StatusOr<std::vector<Shared>> Batches(OpKernelContext&, int64_t rank) {
  return Leading(rank - 2);
}

// Inputs: matrices, and right-hand sides, whose columns the solutions have.
absl::StatusOr<std::vector<Shared>> Solutions(OpKernelContext&, int64_t rank) {
  std::vector<Shared> shared = Leading(rank - 2);
  shared.push_back({1, rank - 1, rank - 1});
  return shared;
}

absl::StatusOr<std::vector<Shared>> BatchAndDepth(OpKernelContext&, int64_t) {
  return std::vector<Shared>{{0, 0, 0}, {0, 3, 3}};
}

absl::StatusOr<std::vector<Shared>> AllButReduced(OpKernelContext& context, int64_t rank) {
  int64_t reduced = 0;
  TF_RETURN_IF_ERROR(GetNodeAttr(tensorflow::AttrSlice(context.op_kernel().def()),
                                 "reduction_dimension", &reduced));
  if (reduced < 0) reduced += rank;
  std::vector<Shared> shared = Leading(rank);
  if (reduced >= 0 && reduced < rank) shared.erase(shared.begin() + reduced);
  return shared;
}

// Null for ops whose translations set sizes themselves.
Dimensions FindDimensions(absl::string_view op) {
  static const auto* const found = new absl::flat_hash_map<absl::string_view, Dimensions>{
      {"ApproxTopK", AllButReduced},
      {"Cholesky", Batches},
      {"Cumprod", AllDimensions},
      {"Cumsum", AllDimensions},
      {"CumulativeLogsumexp", AllDimensions},
      {"ImageProjectiveTransformV2", BatchAndDepth},
      {"ImageProjectiveTransformV3", BatchAndDepth},
      {"LogMatrixDeterminant", Batches},
      {"Lu", Batches},
      {"MatrixDeterminant", Batches},
      {"MatrixDiagPart", Batches},
      {"MatrixDiagPartV2", Batches},
      {"MatrixDiagPartV3", Batches},
      {"MatrixInverse", Batches},
      {"MatrixSolve", Solutions},
      {"OnesLike", AllDimensions},
      {"Qr", Batches},
      {"ReverseSequence", AllDimensions},
      {"SelfAdjointEigV2", Batches},
      {"Svd", Batches},
      {"XlaSelfAdjointEig", Batches},
      {"ZerosLike", AllDimensions},
  };
  const auto dimensions = found->find(op);
  return dimensions == found->end() ? nullptr : dimensions->second;
}

XlaOp OperandOf(OpKernelContext& context, int operand) {
  return XlaExpression::CastExpressionFromTensor(context.input(operand))->handle();
}

// `result` with the length of the diagonal for its last dimension, if that is dynamic.
absl::StatusOr<XlaOp> SetDiagonalLength(OpKernelContext& context, XlaOp result) {
  const std::optional<xla::Shape> shape = DynamicShape(context.input(0));
  const std::optional<DiagonalRange> diagonals = ReadDiagonals(context);
  const int64_t rank = shape.has_value() ? shape->dimensions().size() : 0;
  if (rank < 2 || !diagonals.has_value() || diagonals->lower != diagonals->upper ||
      (!shape->is_dynamic_dimension(rank - 2) && !shape->is_dynamic_dimension(rank - 1))) {
    return result;
  }
  const XlaOp matrix = OperandOf(context, 0);
  const auto size_without = [&](int64_t dimension, int64_t count) {
    const XlaOp size = xla::GetDimensionSize(matrix, dimension);
    return size - xla::ScalarLike(size, count);
  };
  const int64_t k = diagonals->lower;
  const XlaOp length = xla::Min(size_without(rank - 2, std::max<int64_t>(-k, 0)),
                                size_without(rank - 1, std::max<int64_t>(k, 0)));
  return xla::SetDimensionSize(result, xla::Max(length, xla::ZerosLike(length)), rank - 2);
}

}  // namespace

absl::Status SetResultSizes(OpKernelContext& context) {
  const absl::string_view op = context.op_kernel().type_string();
  const Dimensions dimensions = FindDimensions(op);
  if (dimensions == nullptr || context.num_inputs() == 0) return absl::OkStatus();
  const std::optional<xla::Shape> first = BoundedShape(context.input(0));
  if (!first.has_value()) return absl::OkStatus();
  std::vector<std::optional<xla::Shape>> shapes;
  bool is_dynamic = false;
  for (int i = 0; i < context.num_inputs(); ++i) {
    shapes.push_back(DynamicShape(context.input(i)));
    is_dynamic |= shapes.back().has_value();
  }
  if (!is_dynamic) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(const std::vector<Shared> all_shared,
                      dimensions(context, first->dimensions().size()));
  for (int i = 0; i < context.num_outputs(); ++i) {
    Tensor* const output = context.mutable_output(i);
    if (output == nullptr) continue;
    const XlaExpression& expression = *XlaExpression::CastExpressionFromTensor(*output);
    if (expression.kind() != XlaExpression::Kind::kXlaOp) continue;
    XlaOp result = expression.handle();
    for (const Shared& shared : all_shared) {
      const std::optional<xla::Shape>& shape = shapes[shared.operand];
      if (!shape.has_value() || !shape->is_dynamic_dimension(shared.of_operand)) continue;
      const XlaOp operand = OperandOf(context, shared.operand);
      result = xla::SetDimensionSize(result, xla::GetDimensionSize(operand, shared.of_operand),
                                     shared.of_result);
    }
    if (absl::StartsWith(op, "MatrixDiagPart")) {
      TF_ASSIGN_OR_RETURN(result, SetDiagonalLength(context, result));
    }
    // AssignExpressionToTensor rejects a tensor that already holds an expression.
    const_cast<XlaExpression&>(expression) = XlaExpression::XlaOp(result, expression.dtype());
  }
  return absl::OkStatus();
}

}  // namespace onexpu::tf_plugin
