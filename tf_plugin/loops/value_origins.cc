#include "tf_plugin/loops/value_origins.h"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/platform/logging.h"
#include "tf_plugin/loops/loop_functions.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::Edge;
using ::tensorflow::FunctionBody;
using ::tensorflow::Graph;
using ::tensorflow::NameAttrList;
using ::tensorflow::Node;

bool IsOneOf(const Node& node, std::initializer_list<absl::string_view> ops) {
  return absl::c_linear_search(ops, absl::string_view(node.type_string()));
}

// Whether the results of `node` are made of its operands alone. A list is made of its elements: it
// carries indices from a loop to that of its gradient.
bool IsPure(const Node& node) { return !node.op_def().is_stateful() && node.num_inputs() > 0; }

// The operands of `node` that may be beyond an end, or zero divisors; nothing if it has none.
std::optional<std::vector<int>> CheckedOperands(const Node& node) {
  if (IsOneOf(node, {"TensorListGetItem", "TensorListSetItem", "_OnexpuTensorListAddItem"})) {
    return std::vector<int>{1};
  }
  if (IsOneOf(node, {"StridedSlice"})) return std::vector<int>{1, 2, 3};
  if (IsOneOf(node, {"Slice"})) return std::vector<int>{1, 2};
  if (IsOneOf(node, {"StridedSliceGrad"})) return std::vector<int>{0, 1, 2, 3};
  if (IsOneOf(node, {"Div", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod"}) &&
      node.input_type(1) == tensorflow::DT_INT32) {
    return std::vector<int>{1};
  }
  return std::nullopt;
}

// Fails for a full or an empty list.
bool ChangesLength(const Node& node) {
  return IsOneOf(node, {"TensorListPushBack", "TensorListPopBack"});
}

// The operand of `node` that is the length of a new list; -1: there is none.
int LengthOperand(const Node& node) {
  return IsOneOf(node, {"TensorListReserve", "EmptyTensorList"}) ? 1 : -1;
}

}  // namespace

bool GivesShape(const Node& node) {
  return IsOneOf(node,
                 {"Shape", "ShapeN", "Size", "Rank", "TensorListLength", "TensorListElementShape"});
}

Origin ValueOrigins::OriginOf(const Node& node, int output) {
  // Data, where a value is met within itself: in a loop of the graph.
  const auto [known, is_new] = known_.emplace(std::make_pair(&node, output), Origin::kData);
  if (is_new) known->second = Find(node, output);
  return known->second;
}

Origin ValueOrigins::Find(const Node& node, int output) {
  if (node.IsArg()) {
    const int index = IndexOf(node);
    const bool is_known = index >= 0 && index < static_cast<int>(arguments_.size());
    return is_known ? arguments_[index] : Origin::kData;
  }
  if (node.IsConstant() || GivesShape(node)) return Origin::kConstant;
  if (node.IsWhileNode()) return LoopOf(node).results[output];
  if (node.IsPartitionedCall()) {
    const std::unique_ptr<FunctionBody> body = Callee(node, "f", *functions_);
    if (body == nullptr) return Origin::kData;
    return ValueOrigins(functions_, OfInputs(node)).OfResult(*body->graph, output);
  }
  if (!IsPure(node)) return Origin::kData;
  const std::vector<Origin> inputs = OfInputs(node);
  return *absl::c_min_element(inputs);
}

Origin ValueOrigins::OfInput(const Node& node, int input) {
  const Edge* edge = nullptr;
  if (!node.input_edge(input, &edge).ok()) return Origin::kData;
  return OriginOf(*edge->src(), edge->src_output());
}

std::vector<Origin> ValueOrigins::OfInputs(const Node& node) {
  std::vector<Origin> origins;
  for (int i = 0; i < node.num_inputs(); ++i) origins.push_back(OfInput(node, i));
  return origins;
}

Origin ValueOrigins::OfResult(const Graph& body, int index) {
  const Node* const result = ResultOf(body, index);
  return result == nullptr ? Origin::kData : OfInput(*result, 0);
}

bool ValueOrigins::IsKnownLength(const Node& node, int input) {
  if (OfInput(node, input) != Origin::kConstant) return false;
  const Node* const source = SourceOf(node, input);
  tensorflow::Tensor value;
  // Lists without a limit have -1.
  return source == nullptr || !source->IsConstant() ||
         !tensorflow::GetNodeAttr(source->attrs(), "value", &value).ok() ||
         value.dtype() != tensorflow::DT_INT32 || value.NumElements() != 1 ||
         value.flat<int>()(0) >= 0;
}

Origin ValueOrigins::OriginOfErrors(const Node& node) {
  if (const int length = LengthOperand(node); length >= 0 && !IsKnownLength(node, length)) {
    return Origin::kData;
  }
  if (const auto operands = CheckedOperands(node)) {
    Origin least = Origin::kConstant;
    for (const int operand : *operands) least = std::min(least, OfInput(node, operand));
    return least;
  }
  if (ChangesLength(node)) return Origin::kCounted;
  if (node.IsWhileNode()) return LoopOf(node).errors;
  if (node.IsPartitionedCall()) {
    const std::unique_ptr<FunctionBody> body = Callee(node, "f", *functions_);
    if (body == nullptr) return Origin::kData;
    return ValueOrigins(functions_, OfInputs(node)).OfErrorsIn(*body->graph);
  }
  // Others call functions under a condition.
  for (const auto& [name, value] : node.def().attr()) {
    if (value.has_func() && OfErrorsInBranch(node, value.func()) != Origin::kConstant) {
      return Origin::kData;
    }
    for (const tensorflow::NameAttrList& branch : value.list().func()) {
      if (OfErrorsInBranch(node, branch) != Origin::kConstant) return Origin::kData;
    }
  }
  return Origin::kConstant;
}

Origin ValueOrigins::OfErrorsIn(const Graph& graph) {
  Origin least = Origin::kConstant;
  for (const Node* node : graph.op_nodes()) {
    const Origin errors = OriginOfErrors(*node);
    if (errors == Origin::kData) VLOG(1) << node->name() << " may raise errors in some runs only";
    least = std::min(least, errors);
  }
  return least;
}

Origin ValueOrigins::OfErrorsInBranch(const Node& node, const NameAttrList& branch) {
  const std::unique_ptr<FunctionBody> body = Instantiate(branch, *functions_);
  if (body == nullptr) return Origin::kData;
  // The first operand is the condition.
  std::vector<Origin> arguments = OfInputs(node);
  if (!arguments.empty()) arguments.erase(arguments.begin());
  return ValueOrigins(functions_, std::move(arguments)).OfErrorsIn(*body->graph);
}

const ValueOrigins::Loop& ValueOrigins::LoopOf(const Node& node) {
  const auto known = loops_.find(&node);
  return known != loops_.end() ? known->second : loops_.emplace(&node, Analyze(node)).first->second;
}

ValueOrigins::Loop ValueOrigins::Analyze(const Node& node) {
  Loop loop{Origin::kData, std::vector<Origin>(node.num_outputs(), Origin::kData)};
  const std::unique_ptr<FunctionBody> body = Callee(node, "body", *functions_);
  const std::unique_ptr<FunctionBody> condition = Callee(node, "cond", *functions_);
  if (body == nullptr || condition == nullptr) return loop;

  std::vector<Origin> origins = OfInputs(node);
  for (size_t i = 0; i < origins.size(); ++i) {
    if (!IsPassedOn(*body->graph, i)) origins[i] = std::min(origins[i], Origin::kCounted);
  }
  // Until no value is counted that an iteration makes of data.
  for (bool is_done = false; !is_done;) {
    is_done = true;
    ValueOrigins in_body(functions_, origins);
    for (size_t i = 0; i < origins.size(); ++i) {
      if (origins[i] == Origin::kData || in_body.OfResult(*body->graph, i) != Origin::kData) {
        continue;
      }
      origins[i] = Origin::kData;
      is_done = false;
    }
  }
  ValueOrigins in_body(functions_, origins);
  ValueOrigins in_condition(functions_, origins);
  loop.errors =
      std::min(in_body.OfErrorsIn(*body->graph), in_condition.OfErrorsIn(*condition->graph));
  if (in_condition.OfResult(*condition->graph, 0) != Origin::kData) {
    loop.results = origins;
  } else if (loop.errors == Origin::kCounted) {
    VLOG(1) << node.name() << " may run more often, and raise errors in some runs only";
    loop.errors = Origin::kData;  // So is the number of iterations.
  }
  return loop;
}

}  // namespace onexpu::tf_plugin
