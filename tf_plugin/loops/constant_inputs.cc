#include "tf_plugin/loops/constant_inputs.h"

#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::Edge;
using ::tensorflow::Graph;
using ::tensorflow::Node;
using ::tensorflow::NodeDef;

// Larger ones stay operands, which programs share.
constexpr int64_t kMostElements = 1024;

bool IsLarge(const Node& constant) {
  const tensorflow::TensorProto* value = nullptr;
  return !tensorflow::GetNodeAttr(constant.attrs(), "value", &value).ok() ||
         tensorflow::TensorShape(value->tensor_shape()).num_elements() > kMostElements;
}

class Copier {
 public:
  Copier(Graph& graph, const std::function<bool(const Node&)>& admits, ValueOrigins& values)
      : graph_(graph), admits_(admits), values_(values) {}

  bool CanCopy(const Node& node) {
    if (values_.OriginOf(node, 0) != Origin::kConstant || !admits_(node)) return false;
    if (node.IsConstant()) return !IsLarge(node);
    if (GivesShape(node)) return true;
    if (node.IsWhileNode() || node.IsPartitionedCall()) return false;
    for (const Edge* edge : node.in_edges()) {
      if (!edge->IsControlEdge() && !CanCopy(*edge->src())) return false;
    }
    return true;
  }

  // Copies `node`, and what it is computed from.
  absl::StatusOr<Node*> Copy(const Node& node) {
    if (const auto copy = copies_.find(&node); copy != copies_.end()) return copy->second;
    NodeDef definition = node.def();
    definition.set_name(graph_.NewName(absl::StrCat(node.name(), "/in_loop")));
    definition.clear_input();
    absl::Status status;
    Node* const copy = graph_.AddNode(std::move(definition), &status);
    TF_RETURN_IF_ERROR(status);
    copy->set_assigned_device_name(node.assigned_device_name());
    copies_[&node] = copy;
    for (const Edge* edge : node.in_edges()) {
      if (edge->IsControlEdge()) continue;
      Node* source = edge->src();
      if (!GivesShape(node)) {
        TF_ASSIGN_OR_RETURN(source, Copy(*source));
      }
      graph_.AddEdge(source, edge->src_output(), copy, edge->dst_input());
    }
    return copy;
  }

  std::vector<Node*> Copies() const {
    std::vector<Node*> copies;
    for (const auto& [node, copy] : copies_) copies.push_back(copy);
    return copies;
  }

 private:
  Graph& graph_;
  const std::function<bool(const Node&)>& admits_;
  ValueOrigins& values_;
  std::map<const Node*, Node*> copies_;
};

}  // namespace

absl::Status CopyConstantInputs(Graph& graph, LoopCluster& cluster,
                                const std::function<bool(const Node& node)>& admits,
                                ValueOrigins& values) {
  const std::set<const Node*> members(cluster.begin(), cluster.end());
  Copier copier(graph, admits, values);
  for (Node* member : cluster) {
    const std::vector<const Edge*> inputs(member->in_edges().begin(), member->in_edges().end());
    for (const Edge* edge : inputs) {
      Node* const source = edge->src();
      if (edge->IsControlEdge() || members.count(source) > 0 || !copier.CanCopy(*source)) continue;
      TF_ASSIGN_OR_RETURN(Node* const copy, copier.Copy(*source));
      const int output = edge->src_output(), input = edge->dst_input();
      graph.RemoveEdge(edge);
      graph.AddEdge(copy, output, member, input);
      // The cluster still runs where and when its inputs do.
      graph.AddControlEdge(source, member);
    }
  }
  for (Node* copy : copier.Copies()) cluster.push_back(copy);
  return absl::OkStatus();
}

}  // namespace onexpu::tf_plugin
