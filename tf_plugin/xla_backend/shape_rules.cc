#include "tf_plugin/xla_backend/shape_rules.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/core/framework/tensor.h"
#include "tf_plugin/xla_backend/pooling_shape_rules.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::Tensor;
using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

using Rule = absl::Status (*)(InferenceContext& shapes);

// The rank of an operand, with the words of TensorFlow's CPU kernel, which programs may look for;
// the shape function would only name the two ranks.
struct RankRule {
  const char* op;
  int operand;
  int rank;
  const char* otherwise;
  enum { kExactly, kAtLeast, kAtMost } bound = kExactly;

  bool Holds(int found) const {
    return bound == kExactly ? found == rank : bound == kAtLeast ? found >= rank : found <= rank;
  }
};

constexpr RankRule kRanks[] = {
    {"AdjustContrastv2", 1, 0, "contrast_factor must be scalar"},
    {"AdjustHue", 1, 0, "delta must be scalar"},
    {"AdjustSaturation", 1, 0, "scale must be scalar"},
    {"ArgMax", 1, 0, "dim must be a scalar"},
    {"ArgMin", 1, 0, "dim must be a scalar"},
    {"BiasAdd", 1, 1, "Biases must be 1D"},
    {"Cumprod", 1, 0, "ScanOp: axis must be a scalar"},
    {"Cumsum", 1, 0, "ScanOp: axis must be a scalar"},
    {"LinSpace", 0, 0, "start must be a scalar"},
    {"LinSpace", 1, 0, "stop must be a scalar"},
    {"LinSpace", 2, 0, "num must be a scalar"},
    {"LRN", 0, 4, "in must be 4-dimensional"},
    {"MatrixDiag", 0, 1, "diagonal must be at least 1-dim", RankRule::kAtLeast},
    {"MatrixDiagV2", 0, 1, "diagonal must be at least 1-dim", RankRule::kAtLeast},
    {"MatrixDiagV3", 0, 1, "diagonal must be at least 1-dim", RankRule::kAtLeast},
    {"MatrixDiagPart", 0, 2, "input must be at least 2-dim", RankRule::kAtLeast},
    {"MatrixDiagPartV2", 0, 2, "input must be at least 2-dim", RankRule::kAtLeast},
    {"MatrixDiagPartV3", 0, 2, "input must be at least 2-dim", RankRule::kAtLeast},
    {"MatrixSetDiag", 0, 2, "input must be at least 2-dim", RankRule::kAtLeast},
    {"MatrixSetDiag", 1, 1, "diagonal must be at least 1-dim", RankRule::kAtLeast},
    {"MatrixSetDiagV2", 0, 2, "input must be at least 2-dim", RankRule::kAtLeast},
    {"MatrixSetDiagV2", 1, 1, "diagonal must be at least 1-dim", RankRule::kAtLeast},
    {"MatrixSetDiagV3", 0, 2, "input must be at least 2-dim", RankRule::kAtLeast},
    {"MatrixSetDiagV3", 1, 1, "diagonal must be at least 1-dim", RankRule::kAtLeast},
    {"MirrorPad", 1, 2, "paddings must be a matrix with 2 columns"},
    {"OneHot", 1, 0, "depth must be a scalar"},
    {"OneHot", 2, 0, "on_value must be a scalar"},
    {"OneHot", 3, 0, "off_value must be a scalar"},
    {"Pad", 1, 2, "paddings must be a matrix with 2 columns"},
    {"PadV2", 1, 2, "paddings must be a matrix with 2 columns"},
    {"PadV2", 2, 0, "constant_values must be a scalar"},
    {"ResizeBilinear", 0, 4, "input must be 4-dimensional"},
    {"ResizeNearestNeighbor", 0, 4, "input must be 4-dimensional"},
    {"ReverseSequence", 1, 1, "seq_lengths must be 1-dim"},
    {"Roll", 0, 1, "input must be 1-D or higher", RankRule::kAtLeast},
    {"Roll", 1, 1, "shift must be a scalar or a 1-D vector", RankRule::kAtMost},
    {"Roll", 2, 1, "axis must be a scalar or a 1-D vector", RankRule::kAtMost},
    {"Slice", 1, 1, "Expected begin and size arguments to be 1-D tensors"},
    {"Slice", 2, 1, "Expected begin and size arguments to be 1-D tensors"},
    {"SparseSoftmaxCrossEntropyWithLogits", 0, 2, "logits must be 2-D"},
    {"SparseSoftmaxCrossEntropyWithLogits", 1, 1, "labels must be 1-D"},
    {"SparseToDense", 1, 1, "output_shape must be rank 1"},
    {"SparseToDense", 3, 0, "default_value should be a scalar"},
    {"Split", 0, 0, "split_dim must be a scalar"},
    {"RngReadAndSkip", 1, 0, "algorithm must be of shape []"},
    {"StatefulStandardNormalV2", 1, 0, "algorithm must be of shape []"},
    {"StatefulTruncatedNormal", 1, 0, "algorithm must be of shape []"},
    {"StatefulUniform", 1, 0, "algorithm must be of shape []"},
    {"StatefulUniformFullInt", 1, 0, "algorithm must be of shape []"},
    {"StatefulUniformInt", 1, 0, "algorithm must be of shape []"},
    {"Tile", 1, 1, "Expected multiples to be 1-D"},
    {"Transpose", 1, 1, "perm must be rank 1"},
    {"UnsortedSegmentMax", 2, 0, "num_segments should be a scalar"},
    {"UnsortedSegmentMin", 2, 0, "num_segments should be a scalar"},
    {"UnsortedSegmentProd", 2, 0, "num_segments should be a scalar"},
    {"UnsortedSegmentSum", 2, 0, "num_segments should be a scalar"},
};

absl::Status CheckRanks(absl::string_view op, InferenceContext& shapes) {
  for (const RankRule& rule : kRanks) {
    if (op != rule.op) continue;
    const ShapeHandle operand = shapes.input(rule.operand);
    if (!shapes.RankKnown(operand) || rule.Holds(InferenceContext::Rank(operand))) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(rule.otherwise, ", not shape ", shapes.DebugString(operand)));
  }
  return absl::OkStatus();
}

// Inputs: an array, the initial value, sizes, strides and two dilations of the window for each
// dimension, paddings [dimensions, 2].
absl::Status ReduceWindow(InferenceContext& shapes) {
  ShapeHandle unused;
  const ShapeHandle array = shapes.input(0);
  if (!shapes.RankKnown(array)) return absl::OkStatus();
  TF_RETURN_IF_ERROR(shapes.WithRankAtLeast(array, 1, &unused));
  TF_RETURN_IF_ERROR(shapes.WithRank(shapes.input(1), 0, &unused));
  const int rank = InferenceContext::Rank(array);
  for (int i = 2; i <= 5; ++i) {
    TF_RETURN_IF_ERROR(shapes.Merge(shapes.input(i), shapes.Vector(rank), &unused));
  }
  return shapes.Merge(shapes.input(6), shapes.Matrix(rank, 2), &unused);
}

// Inputs: an array, paddings [dimensions, 2].
absl::Status Pad(InferenceContext& shapes) {
  const ShapeHandle array = shapes.input(0), paddings = shapes.input(1);
  if (!shapes.RankKnown(array) || !shapes.RankKnown(paddings)) return absl::OkStatus();
  if (InferenceContext::Rank(paddings) != 2) return absl::OkStatus();
  const int64_t rows = InferenceContext::Value(shapes.Dim(paddings, 0));
  if (rows == InferenceContext::Rank(array)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "The first dimension of paddings must be the rank of inputs: ", shapes.DebugString(paddings),
      " and ", shapes.DebugString(array)));
}

// Inputs: an array, paddings [dimensions, 2], no wider than what there is to reflect.
absl::Status MirrorPad(InferenceContext& shapes) {
  const ShapeHandle array = shapes.input(0);
  const Tensor* const paddings = shapes.input_tensor(1);
  TF_RETURN_IF_ERROR(Pad(shapes));
  if (!shapes.FullyDefined(array) || paddings == nullptr || paddings->dims() != 2 ||
      paddings->dim_size(1) != 2) {
    return absl::OkStatus();
  }
  std::string mode;
  TF_RETURN_IF_ERROR(shapes.GetAttr("mode", &mode));
  const bool reflects = mode == "REFLECT";  // without the edge
  const auto padding = [&](int64_t i) -> int64_t {
    return paddings->dtype() == tensorflow::DT_INT64 ? paddings->flat<int64_t>()(i)
                                                     : paddings->flat<int32_t>()(i);
  };
  for (int i = 0; i < InferenceContext::Rank(array); ++i) {
    const int64_t size = InferenceContext::Value(shapes.Dim(array, i));
    const int64_t before = padding(2 * i), after = padding(2 * i + 1);
    const int64_t limit = reflects ? size - 1 : size;
    if (std::max(before, after) <= limit) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(reflects ? "paddings must be less than the dimension size: "
                              : "paddings must be no greater than the dimension size: ",
                     before, ", ", after, reflects ? " not less than " : " greater than ", size));
  }
  return absl::OkStatus();
}

// Inputs: an array, by how much to roll, along which dimensions.
absl::Status Roll(InferenceContext& shapes) {
  const ShapeHandle shift = shapes.input(1), axis = shapes.input(2);
  if (!shapes.FullyDefined(shift) || !shapes.FullyDefined(axis)) return absl::OkStatus();
  const int64_t shifts = InferenceContext::Value(shapes.NumElements(shift));
  const int64_t axes = InferenceContext::Value(shapes.NumElements(axis));
  if (shifts == axes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("shift and axis must have the same size, not ", shifts, " and ", axes));
}

// Inputs: matrices, diagonals, and where they are: 0 if that is no input.
absl::Status MatrixSetDiag(InferenceContext& shapes) {
  const ShapeHandle matrices = shapes.input(0), diagonals = shapes.input(1);
  if (!shapes.FullyDefined(matrices) || !shapes.FullyDefined(diagonals)) return absl::OkStatus();
  int64_t lowest = 0, highest = 0;
  if (shapes.num_inputs() > 2) {
    const Tensor* const places = shapes.input_tensor(2);
    // The shape function refuses other numbers of them.
    if (places == nullptr || places->NumElements() < 1 || places->NumElements() > 2)
      return absl::OkStatus();
    const auto values = places->flat<int32_t>();
    lowest = values(0);
    highest = values(values.size() - 1);
  }
  const int rank = InferenceContext::Rank(matrices);
  std::vector<int64_t> expected;
  for (int i = 0; i < rank - 2; ++i)
    expected.push_back(InferenceContext::Value(shapes.Dim(matrices, i)));
  const int64_t rows = InferenceContext::Value(shapes.Dim(matrices, rank - 2));
  const int64_t columns = InferenceContext::Value(shapes.Dim(matrices, rank - 1));
  const auto is_inside = [&](int64_t place) {
    return place == 0 || (-rows < place && place < columns);
  };
  if (!is_inside(lowest) || !is_inside(highest) || lowest > highest) return absl::OkStatus();
  if (lowest != highest) expected.push_back(highest - lowest + 1);
  expected.push_back(
      std::min(rows + std::min<int64_t>(highest, 0), columns - std::max<int64_t>(lowest, 0)));
  const std::string wanted = absl::StrCat("[", absl::StrJoin(expected, ","), "]");
  if (shapes.DebugString(diagonals) == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Either the first dimensions of diagonal don't match those of input, or its last are not "
      "those of the longest diagonal: input has shape ",
      shapes.DebugString(matrices), ", diagonal ", shapes.DebugString(diagonals), ", not ",
      wanted));
}

// Inputs: an array, the shape to broadcast it to.
absl::Status BroadcastTo(InferenceContext& shapes) {
  const ShapeHandle array = shapes.input(0);
  const Tensor* const values = shapes.input_tensor(1);
  if (!shapes.FullyDefined(array) || values == nullptr || values->dims() != 1) {
    return absl::OkStatus();
  }
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < values->NumElements(); ++i) {
    sizes.push_back(values->dtype() == tensorflow::DT_INT64 ? values->vec<int64_t>()(i)
                                                            : values->vec<int32_t>()(i));
  }
  const int rank = InferenceContext::Rank(array);
  const int before = static_cast<int>(sizes.size()) - rank;
  if (before < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Rank of input (", rank, ") must be no greater than rank of output shape (",
                     sizes.size(), ")."));
  }
  for (int i = 0; i < rank; ++i) {
    const int64_t size = InferenceContext::Value(shapes.Dim(array, i));
    const int64_t wanted = sizes[before + i];
    if (size == 1 || size == wanted) continue;
    const std::string shape = shapes.DebugString(array);
    const std::string target = absl::StrCat("[", absl::StrJoin(sizes, ","), "]");
    return absl::InvalidArgumentError(
        wanted == 1 ? absl::StrCat("Unable to broadcast tensor of shape ", shape,
                                   " to tensor of shape ", target)
                    : absl::StrCat("Incompatible shapes: ", shape, " vs. ", target));
  }
  return absl::OkStatus();
}

// Inputs: a variable, indices, updates.
absl::Status ScatterNd(InferenceContext& shapes) {
  const auto* const handle = shapes.input_handle_shapes_and_types(0);
  if (handle == nullptr || handle->empty()) return absl::OkStatus();
  const ShapeHandle variable = handle->front().shape;
  if (!shapes.RankKnown(variable) || InferenceContext::Rank(variable) > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Output must be at least 1-D, got shape: ", shapes.DebugString(variable)));
}

// Inputs: an array, indices, along which dimension.
absl::Status Gather(InferenceContext& shapes) {
  int32_t batch_dims = 0;
  TF_RETURN_IF_ERROR(shapes.GetAttr("batch_dims", &batch_dims));
  const ShapeHandle indices = shapes.input(1);
  if (!shapes.RankKnown(indices)) return absl::OkStatus();
  const int32_t rank = InferenceContext::Rank(indices);
  if (-rank <= batch_dims && batch_dims <= rank) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Expected batch_dims in the range [", -rank, ", ",
                                                 rank, "], but got ", batch_dims));
}

// XLA's gather would give zeros.
absl::Status CheckGatherNd(InferenceContext& shapes, ShapeHandle params) {
  const ShapeHandle indices = shapes.input(1);
  if (!shapes.FullyDefined(params) || !shapes.FullyDefined(indices)) return absl::OkStatus();
  const int last = InferenceContext::Rank(indices) - 1;
  bool asks = true, is_empty = false;
  for (int i = 0; i < last; ++i) asks &= InferenceContext::Value(shapes.Dim(indices, i)) != 0;
  for (int i = 0; i < InferenceContext::Rank(params); ++i) {
    is_empty |= InferenceContext::Value(shapes.Dim(params, i)) == 0;
  }
  if (!asks || !is_empty) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Requested more than 0 entries, but params is empty.  Params shape: ",
                   shapes.DebugString(params)));
}

// Inputs: an array, indices.
absl::Status GatherNd(InferenceContext& shapes) { return CheckGatherNd(shapes, shapes.input(0)); }

// Inputs: a variable, indices.
absl::Status ResourceGatherNd(InferenceContext& shapes) {
  const auto* const handle = shapes.input_handle_shapes_and_types(0);
  if (handle == nullptr || handle->empty()) return absl::OkStatus();
  return CheckGatherNd(shapes, handle->front().shape);
}

}  // namespace

absl::Status CheckShapeRules(absl::string_view op, InferenceContext& shapes) {
  static const auto* const kRules = new absl::flat_hash_map<absl::string_view, Rule>{
      {"AvgPool3DGrad", AvgPoolGradShapes},
      {"AvgPoolGrad", AvgPoolGradShapes},
      {"BroadcastTo", BroadcastTo},
      {"GatherNd", GatherNd},
      {"GatherV2", Gather},
      {"MatrixSetDiag", MatrixSetDiag},
      {"MatrixSetDiagV2", MatrixSetDiag},
      {"MatrixSetDiagV3", MatrixSetDiag},
      {"MaxPool3DGrad", MaxPoolGradShapes},
      {"MaxPool3DGradGrad", MaxPoolGradGradShapes},
      {"MaxPoolGrad", MaxPoolGradShapes},
      {"MaxPoolGradGrad", MaxPoolGradGradShapes},
      {"MaxPoolGradGradV2", MaxPoolGradGradShapes},
      {"MaxPoolGradGradWithArgmax", ArgmaxGradGradShapes},
      {"MaxPoolGradV2", MaxPoolGradShapes},
      {"MaxPoolGradWithArgmax", ArgmaxGradShapes},
      {"MirrorPad", MirrorPad},
      {"Pad", Pad},
      {"PadV2", Pad},
      {"ResourceGatherNd", ResourceGatherNd},
      {"ResourceScatterNdAdd", ScatterNd},
      {"ResourceScatterNdMax", ScatterNd},
      {"ResourceScatterNdMin", ScatterNd},
      {"ResourceScatterNdSub", ScatterNd},
      {"ResourceScatterNdUpdate", ScatterNd},
      {"Roll", Roll},
      {"XlaReduceWindow", ReduceWindow},
  };
  TF_RETURN_IF_ERROR(CheckRanks(op, shapes));
  const auto rule = kRules->find(op);
  return rule == kRules->end() ? absl::OkStatus() : rule->second(shapes);
}

absl::Status WithRule(absl::string_view op, const absl::Status& said) {
  if (said.ok() || op != "ScatterNd" || !absl::StrContains(said.message(), "must match")) {
    return said;
  }
  return absl::Status(said.code(),
                      absl::StrCat("Must have updates.shape = indices.shape[:batch_dim] + "
                                   "buffer_shape[num_index_dims:]. ",
                                   said.message()));
}

}  // namespace onexpu::tf_plugin
