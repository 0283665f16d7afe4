#include "tf_plugin/loops/accumulator_limits.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tf_plugin/loops/loop_functions.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::Edge;
using ::tensorflow::FunctionBody;
using ::tensorflow::FunctionLibraryDefinition;
using ::tensorflow::Graph;
using ::tensorflow::Node;
using ::tensorflow::NodeBuilder;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// The value of a constant, if it is one integer.
std::optional<int64_t> IntegerOf(const Node* node) {
  Tensor value;
  if (node == nullptr || !node->IsConstant() ||
      !tensorflow::GetNodeAttr(node->attrs(), "value", &value).ok() || value.NumElements() != 1) {
    return std::nullopt;
  }
  if (value.dtype() == tensorflow::DT_INT32) return value.flat<int32_t>()(0);
  if (value.dtype() == tensorflow::DT_INT64) return value.flat<int64_t>()(0);
  return std::nullopt;
}

// An integer that all iterations of a loop share: an input of the loop, or a constant.
struct Invariant {
  int input = -1;
  std::optional<int64_t> value;
};

std::optional<Invariant> InvariantOf(const Node* node, const Node& loop, const Graph& body) {
  if (node == nullptr) return std::nullopt;
  if (node->IsArg()) {
    const int input = IndexOf(*node);
    if (!IsPassedOn(body, input)) return std::nullopt;
    return Invariant{input, IntegerOf(SourceOf(loop, input))};
  }
  const std::optional<int64_t> value = IntegerOf(node);
  if (!value.has_value()) return std::nullopt;
  return Invariant{-1, value};
}

// A loop whose counter runs through a range, upwards or downwards. The number of iterations is
// floor((max(high, low) - base) / stride) + 1.
struct Count {
  Invariant high;
  int64_t low;
  int64_t base;  // `low`, or `low` + 1 if the loop ends before the end of the range
  int64_t stride;
};

std::optional<int64_t> StepOf(int counter, const Node& loop, const Graph& body) {
  const Node* const result = ResultOf(body, counter);
  const Node* const next = result == nullptr ? nullptr : SourceOf(*result, 0);
  if (next == nullptr || (next->type_string() != "AddV2" && next->type_string() != "Add")) {
    return std::nullopt;
  }
  for (const int side : {0, 1}) {
    const Node* const argument = SourceOf(*next, side);
    if (argument == nullptr || IndexOf(*argument) != counter) continue;
    const auto step = InvariantOf(SourceOf(*next, 1 - side), loop, body);
    if (step.has_value()) return step->value;
  }
  return std::nullopt;
}

std::optional<Count> CountOf(const Node& loop, const Graph& condition, const Graph& body) {
  const Node* const result = ResultOf(condition, 0);
  const Node* const comparison = result == nullptr ? nullptr : SourceOf(*result, 0);
  if (comparison == nullptr || comparison->num_inputs() != 2) return std::nullopt;
  const absl::string_view op = comparison->type_string();
  const bool includes_end = op == "LessEqual" || op == "GreaterEqual";
  if (!includes_end && op != "Less" && op != "Greater") return std::nullopt;
  const Node* const argument = SourceOf(*comparison, 0);
  const int counter = argument == nullptr ? -1 : IndexOf(*argument);
  if (counter < 0) return std::nullopt;
  const Invariant start{counter, IntegerOf(SourceOf(loop, counter))};
  const auto end = InvariantOf(SourceOf(*comparison, 1), loop, body);
  const auto step = StepOf(counter, loop, body);
  const bool is_upwards = op[0] == 'L';
  if (!end.has_value() || !step.has_value() || *step == 0 || (*step > 0) != is_upwards) {
    return std::nullopt;
  }
  // A low end that is not far below zero: differences do not overflow.
  const std::optional<int64_t> low = is_upwards ? start.value : end->value;
  if (!low.has_value() || *low < -1) return std::nullopt;
  const Invariant high = is_upwards ? *end : start;
  if (!high.value.has_value() && loop.input_type(counter) != tensorflow::DT_INT32) {
    return std::nullopt;
  }
  return Count{high, *low, *low + (includes_end ? 0 : 1), std::abs(*step)};
}

// The lists of `loop` that begin empty and without a limit, and get an element in each iteration.
std::vector<Node*> Accumulators(const Node& loop, const Graph& body) {
  std::vector<Node*> lists;
  for (int i = 0; i < loop.num_inputs(); ++i) {
    const Edge* edge = nullptr;
    if (!loop.input_edge(i, &edge).ok()) continue;
    Node* const list = edge->src();
    if (list->type_string() != "EmptyTensorList" || IntegerOf(SourceOf(*list, 1)) != -1 ||
        list->out_edges().size() != 1) {
      continue;
    }
    const Node* const result = ResultOf(body, i);
    const Node* const push = result == nullptr ? nullptr : SourceOf(*result, 0);
    if (push == nullptr || push->type_string() != "TensorListPushBack") continue;
    const Node* const old = SourceOf(*push, 0);
    if (old != nullptr && IndexOf(*old) == i) lists.push_back(list);
  }
  return lists;
}

// Adds the number of iterations to a graph: a constant, or ops that compute it.
class CountBuilder {
 public:
  CountBuilder(Graph& graph, const Node& loop) : graph_(graph), loop_(loop) {}

  // The node is an int32 of at least 1: a program's list cannot be empty.
  absl::StatusOr<Node*> Build(const Count& count) {
    if (count.high.value.has_value()) {
      const int64_t distance = std::max(*count.high.value, count.low) - count.base;
      const int64_t iterations = distance < 0 ? 0 : distance / count.stride + 1;
      return Constant(std::clamp<int64_t>(iterations, 1, std::numeric_limits<int32_t>::max()));
    }
    const Edge* high = nullptr;
    TF_RETURN_IF_ERROR(loop_.input_edge(count.high.input, &high));
    NodeBuilder::NodeOut value(high->src(), high->src_output());
    const std::pair<const char*, int64_t> operations[] = {{"Maximum", count.low},
                                                          {"Sub", count.base},
                                                          {"FloorDiv", count.stride},
                                                          {"AddV2", 1},
                                                          {"Maximum", 1}};
    for (const auto& [op, operand] : operations) {
      TF_ASSIGN_OR_RETURN(Node* const constant, Constant(operand));
      NodeBuilder builder = New(op);
      TF_ASSIGN_OR_RETURN(Node* const node, Finish(builder.Input(value).Input(constant)));
      value = NodeBuilder::NodeOut(node);
    }
    return value.node;
  }

 private:
  NodeBuilder New(const char* op) {
    NodeBuilder builder(graph_.NewName(absl::StrCat(loop_.name(), "/limit")), op);
    builder.Device(loop_.requested_device());
    return builder;
  }

  absl::StatusOr<Node*> Finish(NodeBuilder& builder) {
    Node* node = nullptr;
    TF_RETURN_IF_ERROR(builder.Finalize(&graph_, &node));
    return node;
  }

  absl::StatusOr<Node*> Constant(int64_t value) {
    Tensor tensor(tensorflow::DT_INT32, TensorShape({}));
    tensor.scalar<int32_t>()() = static_cast<int32_t>(value);
    NodeBuilder builder = New("Const");
    return Finish(builder.Attr("dtype", tensorflow::DT_INT32).Attr("value", tensor));
  }

  Graph& graph_;
  const Node& loop_;
};

}  // namespace

absl::Status LimitAccumulators(Graph& graph, const Node& loop,
                               const FunctionLibraryDefinition& functions) {
  const std::unique_ptr<FunctionBody> body = Callee(loop, "body", functions);
  const std::unique_ptr<FunctionBody> condition = Callee(loop, "cond", functions);
  if (body == nullptr || condition == nullptr) return absl::OkStatus();
  const std::vector<Node*> lists = Accumulators(loop, *body->graph);
  if (lists.empty()) return absl::OkStatus();
  const std::optional<Count> count = CountOf(loop, *condition->graph, *body->graph);
  if (!count.has_value()) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(Node* const limit, CountBuilder(graph, loop).Build(*count));
  for (Node* list : lists) TF_RETURN_IF_ERROR(graph.UpdateEdge(limit, 0, list, 1));
  return absl::OkStatus();
}

}  // namespace onexpu::tf_plugin
