#include "tf_plugin/xla_backend/dynamic_size_rules.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/compiler/tf2xla/xla_expression.h"
#include "tensorflow/compiler/tf2xla/xla_resource.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/tensor.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::XlaExpression;
using ::tensorflow::XlaResource;

// Which dimensions of an operand a translation takes the bounds of for their sizes.
enum class Fixed {
  kAll,
  kLast,      // diagonals
  kRolled,    // the axes of Roll
  kWindowed,  // those with a window of more than one element
  kBatch,     // all but the channels, if the moments are computed
};

struct Rule {
  int operand;
  Fixed fixed;
};

const Rule* FindRule(absl::string_view op) {
  static const auto* const rules = new absl::flat_hash_map<absl::string_view, Rule>{
      {"AvgPool", {0, Fixed::kWindowed}},
      {"AvgPool3D", {0, Fixed::kWindowed}},
      {"AvgPool3DGrad", {1, Fixed::kWindowed}},
      {"AvgPoolGrad", {1, Fixed::kWindowed}},
      {"FusedBatchNorm", {0, Fixed::kBatch}},
      {"FusedBatchNormV2", {0, Fixed::kBatch}},
      {"FusedBatchNormV3", {0, Fixed::kBatch}},
      {"MatrixDiag", {0, Fixed::kLast}},
      {"MatrixDiagV2", {0, Fixed::kLast}},
      {"MatrixDiagV3", {0, Fixed::kLast}},
      {"MaxPool3D", {0, Fixed::kWindowed}},
      {"MaxPool3DGrad", {0, Fixed::kWindowed}},
      {"MaxPoolWithArgmax", {0, Fixed::kWindowed}},
      {"MirrorPad", {0, Fixed::kAll}},
      {"MirrorPadGrad", {0, Fixed::kAll}},
      {"ResourceStridedSliceAssign", {4, Fixed::kAll}},
      {"Roll", {0, Fixed::kRolled}},
      {"TensorStridedSliceUpdate", {4, Fixed::kAll}},
      {"Unique", {0, Fixed::kAll}},
      {"UniqueV2", {0, Fixed::kAll}},
      {"UniqueWithCounts", {0, Fixed::kAll}},
      {"UniqueWithCountsV2", {0, Fixed::kAll}},
  };
  const auto found = rules->find(op);
  return found == rules->end() ? nullptr : &found->second;
}

// The shape that XLA knows of an operand, if it has a dynamic dimension.
std::optional<xla::Shape> DynamicShape(const Tensor& tensor) {
  const XlaExpression& operand = *XlaExpression::CastExpressionFromTensor(tensor);
  if (operand.kind() != XlaExpression::Kind::kXlaOp) return std::nullopt;
  const absl::StatusOr<xla::Shape> shape = operand.GetXlaShape();
  if (!shape.ok() || !shape->IsArray() || shape->is_static()) return std::nullopt;
  return *shape;
}

// The axes of Roll, of which none is known if a program computes them.
std::vector<int64_t> Axes(OpKernelContext& context, int64_t rank) {
  const std::optional<Tensor> axes =
      XlaExpression::CastExpressionFromTensor(context.input(2))->constant_value();
  std::vector<int64_t> result;
  for (int64_t d = 0; d < rank && !axes.has_value(); ++d) result.push_back(d);
  for (int64_t i = 0; axes.has_value() && i < axes->NumElements(); ++i) {
    const int64_t axis =
        axes->dtype() == tensorflow::DT_INT32 ? axes->flat<int32_t>()(i) : axes->flat<int64_t>()(i);
    result.push_back(axis < 0 ? axis + rank : axis);
  }
  return result;
}

absl::StatusOr<std::vector<int64_t>> FixedDimensions(OpKernelContext& context, const Rule& rule,
                                                     int64_t rank) {
  const tensorflow::AttrSlice attributes(context.op_kernel().def());
  std::vector<int64_t> dimensions;
  switch (rule.fixed) {
    case Fixed::kLast:
      return std::vector<int64_t>{rank - 1};
    case Fixed::kRolled:
      return Axes(context, rank);
    case Fixed::kWindowed: {
      std::vector<int64_t> window;
      TF_RETURN_IF_ERROR(GetNodeAttr(attributes, "ksize", &window));
      for (int64_t d = 0; d < std::min<int64_t>(rank, window.size()); ++d) {
        if (window[d] != 1) dimensions.push_back(d);
      }
      return dimensions;
    }
    case Fixed::kBatch: {
      bool computes_moments = false;
      std::string format;
      TF_RETURN_IF_ERROR(GetNodeAttr(attributes, "is_training", &computes_moments));
      TF_RETURN_IF_ERROR(GetNodeAttr(attributes, "data_format", &format));
      for (int64_t d = 0; d < rank && computes_moments; ++d) {
        if (d != static_cast<int64_t>(format.find('C'))) dimensions.push_back(d);
      }
      return dimensions;
    }
    case Fixed::kAll:
      break;
  }
  for (int64_t d = 0; d < rank; ++d) dimensions.push_back(d);
  return dimensions;
}

// How many last dimensions of the first operand the results do not share; empty for ops whose
// translations set sizes themselves.
std::optional<int64_t> UnsharedDimensions(absl::string_view op) {
  static const auto* const of_shape = new absl::flat_hash_set<absl::string_view>{
      "Cumprod", "Cumsum", "CumulativeLogsumexp", "OnesLike", "ZerosLike"};
  static const auto* const of_batches = new absl::flat_hash_set<absl::string_view>{
      "Cholesky",         "LogMatrixDeterminant", "Lu", "MatrixDeterminant",
      "MatrixInverse",    "MatrixSolve",          "Qr", "Svd",
      "SelfAdjointEigV2", "XlaSelfAdjointEig"};
  if (of_shape->contains(op)) return 0;
  if (of_batches->contains(op)) return 2;
  return std::nullopt;
}

}  // namespace

absl::Status CheckDynamicSizes(OpKernelContext& context) {
  const Rule* const rule = FindRule(context.op_kernel().type_string());
  if (rule == nullptr) return absl::OkStatus();
  const std::optional<xla::Shape> shape = DynamicShape(context.input(rule->operand));
  if (!shape.has_value()) return absl::OkStatus();
  const int64_t rank = shape->dimensions().size();
  TF_ASSIGN_OR_RETURN(const std::vector<int64_t> fixed, FixedDimensions(context, *rule, rank));
  for (const int64_t d : fixed) {
    if (d < 0 || d >= rank || !shape->is_dynamic_dimension(d)) continue;
    return absl::UnimplementedError(absl::StrCat(
        "onexpu: ", context.op_kernel().type_string(),
        " with jit_compile=True: the size of dimension ", d, " of operand ", rule->operand, ", ",
        shape->ToString(), ", is known only at run time (", context.op_kernel().name(),
        "). Call the op outside of the compiled function, or pad the operand to a known size"));
  }
  return absl::OkStatus();
}

absl::Status CheckVariables(OpKernelContext& context) {
  for (int i = 0; i < context.num_inputs(); ++i) {
    const XlaExpression& operand = *XlaExpression::CastExpressionFromTensor(context.input(i));
    if (operand.kind() != XlaExpression::Kind::kResource) continue;
    const XlaResource& variable = *operand.resource();
    if (variable.kind() != XlaResource::kVariable || !variable.value().valid()) continue;
    TF_ASSIGN_OR_RETURN(const xla::Shape shape,
                        variable.value().builder()->GetShape(variable.value()));
    if (shape.is_static()) continue;
    return absl::UnimplementedError(absl::StrCat(
        "onexpu: ", context.op_kernel().type_string(), " with jit_compile=True: variable ",
        variable.name(), " gets a value of shape ", shape.ToString(),
        ", whose size is known only at run time (", context.op_kernel().name(),
        "). Return the value, and assign it outside of the compiled function"));
  }
  return absl::OkStatus();
}

absl::Status SetResultSizes(OpKernelContext& context) {
  const std::optional<int64_t> unshared = UnsharedDimensions(context.op_kernel().type_string());
  if (!unshared.has_value() || context.num_inputs() == 0) return absl::OkStatus();
  const std::optional<xla::Shape> shape = DynamicShape(context.input(0));
  if (!shape.has_value()) return absl::OkStatus();
  const xla::XlaOp operand = XlaExpression::CastExpressionFromTensor(context.input(0))->handle();
  const int64_t shared = static_cast<int64_t>(shape->dimensions().size()) - *unshared;
  for (int i = 0; i < context.num_outputs(); ++i) {
    Tensor* const output = context.mutable_output(i);
    if (output == nullptr) continue;
    const XlaExpression& expression = *XlaExpression::CastExpressionFromTensor(*output);
    if (expression.kind() != XlaExpression::Kind::kXlaOp) continue;
    xla::XlaOp result = expression.handle();
    for (int64_t d = 0; d < shared; ++d) {
      if (!shape->is_dynamic_dimension(d)) continue;
      result = xla::SetDimensionSize(result, xla::GetDimensionSize(operand, d), d);
    }
    // AssignExpressionToTensor rejects a tensor that already holds an expression.
    const_cast<XlaExpression&>(expression) = XlaExpression::XlaOp(result, expression.dtype());
  }
  return absl::OkStatus();
}

}  // namespace onexpu::tf_plugin
