#include "tf_plugin/xla_backend/dynamic_size_rules.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/compiler/tf2xla/xla_expression.h"
#include "tensorflow/compiler/tf2xla/xla_resource.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tf_plugin/xla_backend/dynamic_operands.h"
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

// The dimensions of an operand whose bound a translation takes for the size.
enum class Fixed {
  kAll,
  kAllButFirst,
  kFirstTwo,    // rows and columns of a filter
  kSpace,       // all but the batch and the depth of images
  kPatches,     // all but the batch, or without padding the depth only
  kLast,        // diagonals
  kMatrix,      // the last two
  kBand,        // the last two, if the op has several diagonals
  kRolled,      // the axes of Roll
  kWindowed,    // those with a window of more than one element
  kBatch,       // all but the channels, if the moments are computed
  kBlocks,      // those that block_shape, the second operand, divides
  kInRows,      // those after the dimensions of the partitions, the second operand
  kHistograms,  // all of a matrix, which has a histogram for each row
};

constexpr int kEveryOperand = -1;

struct Rule {
  int operand;
  Fixed fixed;
};

const std::vector<Rule>* FindRules(absl::string_view op) {
  static const auto* const rules = new absl::flat_hash_map<absl::string_view, std::vector<Rule>>{
      {"AvgPool", {{0, Fixed::kWindowed}}},
      {"AvgPool3D", {{0, Fixed::kWindowed}}},
      {"AvgPool3DGrad", {{1, Fixed::kWindowed}}},
      {"AvgPoolGrad", {{1, Fixed::kWindowed}}},
      {"BatchToSpace", {{0, Fixed::kSpace}}},
      {"BatchToSpaceND", {{0, Fixed::kBlocks}}},
      {"Bincount", {{0, Fixed::kHistograms}}},
      {"BlockLSTM", {{kEveryOperand, Fixed::kAll}}},
      {"BlockLSTMGrad", {{kEveryOperand, Fixed::kAll}}},
      {"BlockLSTMGradV2", {{kEveryOperand, Fixed::kAll}}},
      {"BlockLSTMV2", {{kEveryOperand, Fixed::kAll}}},
      {"DenseBincount", {{0, Fixed::kHistograms}}},
      {"Diag", {{0, Fixed::kAll}}},
      {"DiagPart", {{0, Fixed::kAll}}},
      {"Dilation2D", {{0, Fixed::kSpace}, {1, Fixed::kFirstTwo}}},
      {"Dilation2DBackpropFilter", {{0, Fixed::kSpace}, {1, Fixed::kFirstTwo}, {2, Fixed::kSpace}}},
      {"Dilation2DBackpropInput", {{0, Fixed::kSpace}, {1, Fixed::kFirstTwo}, {2, Fixed::kSpace}}},
      {"DynamicPartition", {{0, Fixed::kInRows}}},
      {"ExtractImagePatches", {{0, Fixed::kPatches}}},
      {"ExtractVolumePatches", {{0, Fixed::kPatches}}},
      {"FusedBatchNorm", {{0, Fixed::kBatch}}},
      {"FusedBatchNormV2", {{0, Fixed::kBatch}}},
      {"FusedBatchNormV3", {{0, Fixed::kBatch}}},
      {"ImageProjectiveTransformV2", {{0, Fixed::kSpace}}},
      {"ImageProjectiveTransformV3", {{0, Fixed::kSpace}}},
      {"LSTMBlockCellGrad", {{4, Fixed::kAll}, {5, Fixed::kAll}, {6, Fixed::kAll}}},
      {"MatrixDiag", {{0, Fixed::kLast}}},
      {"MatrixDiagPartV2", {{0, Fixed::kBand}}},
      {"MatrixDiagPartV3", {{0, Fixed::kBand}}},
      {"MatrixDiagV2", {{0, Fixed::kLast}}},
      {"MatrixDiagV3", {{0, Fixed::kLast}}},
      {"MatrixSetDiagV2", {{0, Fixed::kBand}, {1, Fixed::kBand}}},
      {"MatrixSetDiagV3", {{0, Fixed::kBand}, {1, Fixed::kBand}}},
      {"MaxPool3D", {{0, Fixed::kWindowed}}},
      {"MaxPool3DGrad", {{0, Fixed::kWindowed}}},
      {"MaxPoolGradGradWithArgmax",
       {{0, Fixed::kAllButFirst}, {1, Fixed::kAllButFirst}, {2, Fixed::kAllButFirst}}},
      {"MaxPoolGradWithArgmax",
       {{0, Fixed::kAllButFirst}, {1, Fixed::kAllButFirst}, {2, Fixed::kAllButFirst}}},
      {"MaxPoolWithArgmax", {{0, Fixed::kAllButFirst}}},
      {"MirrorPad", {{0, Fixed::kAll}}},
      {"MirrorPadGrad", {{0, Fixed::kAll}}},
      {"ResizeBilinear", {{0, Fixed::kSpace}}},
      {"ResizeBilinearGrad", {{0, Fixed::kSpace}, {1, Fixed::kSpace}}},
      {"ResizeNearestNeighbor", {{0, Fixed::kSpace}}},
      {"ResizeNearestNeighborGrad", {{0, Fixed::kSpace}}},
      {"ResourceStridedSliceAssign", {{4, Fixed::kAll}}},
      {"Roll", {{0, Fixed::kRolled}}},
      {"SpaceToBatch", {{0, Fixed::kSpace}}},
      {"SpaceToBatchND", {{0, Fixed::kBlocks}}},
      {"SpaceToDepth", {{0, Fixed::kSpace}}},
      {"TensorStridedSliceUpdate", {{4, Fixed::kAll}}},
      {"Unique", {{0, Fixed::kAll}}},
      {"UniqueV2", {{0, Fixed::kAll}}},
      {"UniqueWithCounts", {{0, Fixed::kAll}}},
      {"UniqueWithCountsV2", {{0, Fixed::kAll}}},
      {"XlaConcatND", {{kEveryOperand, Fixed::kAll}}},
      {"XlaDynamicUpdateSlice", {{1, Fixed::kAll}}},
      {"XlaSelectAndScatter", {{0, Fixed::kAll}, {4, Fixed::kAll}}},
      {"XlaSplitND", {{0, Fixed::kAll}}},
      {"XlaSvd", {{0, Fixed::kMatrix}}},
      {"_FusedBatchNormEx", {{0, Fixed::kBatch}}},
  };
  const auto found = rules->find(op);
  return found == rules->end() ? nullptr : &found->second;
}

std::vector<int64_t> Range(int64_t begin, int64_t end) {
  std::vector<int64_t> dimensions;
  for (int64_t d = begin; d < end; ++d) dimensions.push_back(d);
  return dimensions;
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
    case Fixed::kAll:
      return Range(0, rank);
    case Fixed::kAllButFirst:
      return Range(1, rank);
    case Fixed::kFirstTwo:
      return Range(0, 2);
    case Fixed::kSpace:
      return Range(1, rank - 1);
    case Fixed::kPatches: {
      std::string padding;
      TF_RETURN_IF_ERROR(GetNodeAttr(attributes, "padding", &padding));
      return Range(padding == "VALID" ? rank - 1 : 1, rank);
    }
    case Fixed::kLast:
      return Range(rank - 1, rank);
    case Fixed::kMatrix:
      return Range(rank - 2, rank);
    case Fixed::kBand: {
      const std::optional<DiagonalRange> diagonals = ReadDiagonals(context);
      const bool is_one = diagonals.has_value() && diagonals->lower == diagonals->upper;
      return is_one ? dimensions : Range(rank - 2, rank);
    }
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
    case Fixed::kBlocks:
    case Fixed::kInRows: {
      TF_ASSIGN_OR_RETURN(const tensorflow::TensorShape second,
                          XlaExpression::CastExpressionFromTensor(context.input(1))->GetShape());
      return rule.fixed == Fixed::kInRows
                 ? Range(second.dims(), rank)
                 : Range(1, std::min<int64_t>(rank, second.num_elements() + 1));
    }
    case Fixed::kHistograms:
      return Range(0, rank == 2 ? rank : 0);
  }
  return absl::InternalError("onexpu: a rule without dimensions");
}

}  // namespace

absl::Status CheckDynamicSizes(OpKernelContext& context) {
  const std::vector<Rule>* const rules = FindRules(context.op_kernel().type_string());
  if (rules == nullptr) return absl::OkStatus();
  for (const Rule& rule : *rules) {
    const bool is_every = rule.operand == kEveryOperand;
    const int first = is_every ? 0 : rule.operand;
    const int end = is_every ? context.num_inputs() : rule.operand + 1;
    for (int i = first; i < end; ++i) {
      const std::optional<xla::Shape> shape = DynamicShape(context.input(i));
      if (!shape.has_value()) continue;
      const int64_t rank = shape->dimensions().size();
      TF_ASSIGN_OR_RETURN(const std::vector<int64_t> fixed, FixedDimensions(context, rule, rank));
      for (const int64_t d : fixed) {
        if (d < 0 || d >= rank || !shape->is_dynamic_dimension(d)) continue;
        return UnknownSize(context, i, *shape, d);
      }
    }
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

}  // namespace onexpu::tf_plugin
