#include "tf_plugin/placement/parallel_concat.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tensorflow/core/util/device_name_utils.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::Edge;
using ::tensorflow::Graph;
using ::tensorflow::Node;
using ::tensorflow::NodeBuilder;
using ::tensorflow::Tensor;

// TensorFlow's pass, of the same group, is in phase 10.
constexpr int kBeforeTensorFlows = 0;

// On the CPU TensorFlow's way works.
bool IsAskedForHost(const Node& node) {
  tensorflow::DeviceNameUtils::ParsedName name;
  return tensorflow::DeviceNameUtils::ParseFullName(node.requested_device(), &name) &&
         name.has_type && name.type == tensorflow::DEVICE_CPU;
}

absl::StatusOr<Node*> FirstDimension(const Node& node, Graph* graph) {
  Tensor first_dimension(0);
  Node* axis = nullptr;
  TF_RETURN_IF_ERROR(NodeBuilder(graph->NewName(absl::StrCat(node.name(), "/axis")), "Const")
                         .Attr("value", first_dimension)
                         .Attr("dtype", first_dimension.dtype())
                         .Device(node.requested_device())
                         .Finalize(graph, &axis));
  return axis;
}

// As TensorFlow's kernel, which never sees it here.
absl::Status CheckShape(const Node& node) {
  tensorflow::PartialTensorShape shape;
  TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node.attrs(), "shape", &shape));
  if (shape.dims() >= 1 && shape.dim_size(0) > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("0th dimension of the shape ", shape.DebugString(),
                                                 " of ParallelConcat ", node.name(),
                                                 " must be greater than 0"));
}

absl::Status Replace(Node* node, Graph* graph) {
  TF_RETURN_IF_ERROR(CheckShape(*node));
  std::vector<const Edge*> inputs;
  TF_RETURN_IF_ERROR(node->input_edges(&inputs));
  std::vector<NodeBuilder::NodeOut> pieces;
  for (const Edge* edge : inputs) pieces.emplace_back(edge->src(), edge->src_output());
  // A ConcatV2 has two operands at least.
  const bool is_one = pieces.size() == 1;
  NodeBuilder builder(node->name(), is_one ? "Identity" : "ConcatV2");
  builder.Device(node->requested_device());
  if (is_one) {
    builder.Input(pieces.front());
  } else {
    TF_ASSIGN_OR_RETURN(Node* const axis, FirstDimension(*node, graph));
    builder.Input(pieces).Input(axis, 0);
  }
  for (const Edge* edge : node->in_edges()) {
    if (edge->IsControlEdge()) builder.ControlInput(edge->src());
  }
  Node* joined = nullptr;
  TF_RETURN_IF_ERROR(builder.Finalize(graph, &joined));
  for (const Edge* edge :
       std::vector<const Edge*>(node->out_edges().begin(), node->out_edges().end())) {
    if (edge->IsControlEdge()) {
      graph->AddControlEdge(joined, edge->dst());
    } else {
      graph->AddEdge(joined, 0, edge->dst(), edge->dst_input());
    }
  }
  // Its edges go with it, the new ones are in their places.
  graph->RemoveNode(node);
  return absl::OkStatus();
}

class ParallelConcatPass final : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const tensorflow::GraphOptimizationPassOptions& options) override {
    if (options.graph == nullptr || *options.graph == nullptr) return absl::OkStatus();
    Graph* const graph = options.graph->get();
    std::vector<Node*> found;
    for (Node* node : graph->op_nodes()) {
      if (node->type_string() == "ParallelConcat" && !IsAskedForHost(*node)) found.push_back(node);
    }
    for (Node* node : found) TF_RETURN_IF_ERROR(Replace(node, graph));
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterParallelConcatPass() {
  tensorflow::OptimizationPassRegistry::Global()->Register(
      tensorflow::OptimizationPassRegistry::PRE_PLACEMENT, kBeforeTensorFlows,
      std::make_unique<ParallelConcatPass>());
}

}  // namespace onexpu::tf_plugin
