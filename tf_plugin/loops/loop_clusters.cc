#include "tf_plugin/loops/loop_clusters.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tensorflow/core/platform/logging.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::Edge;
using ::tensorflow::Graph;
using ::tensorflow::Node;

bool HoldsList(const Edge& edge) {
  return !edge.IsControlEdge() &&
         edge.src()->output_type(edge.src_output()) == tensorflow::DT_VARIANT;
}

class ClusterFinder {
 public:
  ClusterFinder(const Graph& graph, const std::function<bool(const Node&)>& admits)
      : graph_(graph), admits_(admits) {}

  // Adds the cluster of `loop`, which takes in those that it must not be separate from.
  void Add(Node* loop) {
    if (cluster_of_.count(loop) > 0) return;
    is_member_.assign(graph_.num_node_ids(), false);
    members_.clear();
    rejected_ = false;
    Include(loop);
    size_t with_lists = 0;
    while (!rejected_) {
      for (; with_lists < members_.size() && !rejected_; ++with_lists) {
        IncludeListsOf(*members_[with_lists]);
      }
      if (rejected_ || !IncludeNodesBetween()) break;
    }
    if (!rejected_) Accept();
  }

  std::vector<LoopCluster> Clusters() && {
    std::vector<LoopCluster> clusters;
    for (auto& [id, members] : clusters_) clusters.push_back(std::move(members));
    return clusters;
  }

 private:
  using Marks = std::vector<bool>;  // by the nodes' ids

  void Include(Node* node) {
    if (is_member_[node->id()]) return;
    const bool is_with_loop =
        members_.empty() || node->assigned_device_name() == members_[0]->assigned_device_name();
    if (!node->IsOp() || !is_with_loop || !admits_(*node)) {
      VLOG(1) << (members_.empty() ? node : members_[0])->name() << " runs op by op because of "
              << node->name() << " (" << node->type_string() << ")";
      rejected_ = true;
      return;
    }
    is_member_[node->id()] = true;
    members_.push_back(node);
    if (const auto cluster = cluster_of_.find(node); cluster != cluster_of_.end()) {
      for (Node* other : clusters_[cluster->second]) Include(other);
    }
  }

  void IncludeListsOf(const Node& node) {
    for (const Edge* edge : node.in_edges()) {
      if (HoldsList(*edge)) Include(edge->src());
    }
    for (const Edge* edge : node.out_edges()) {
      if (HoldsList(*edge)) Include(edge->dst());
    }
  }

  // Returns the transitive successors (`forward`) or predecessors of the members. An accepted
  // cluster counts as one node.
  Marks Reach(bool forward) const {
    Marks reached(graph_.num_node_ids(), false);
    std::vector<const Node*> open(members_.begin(), members_.end());
    const auto visit = [&](const Node* node) {
      if (reached[node->id()]) return;
      reached[node->id()] = true;
      if (!is_member_[node->id()]) open.push_back(node);
    };
    while (!open.empty()) {
      const Node* const node = open.back();
      open.pop_back();
      for (const Edge* edge : forward ? node->out_edges() : node->in_edges()) {
        visit(forward ? edge->dst() : edge->src());
      }
      const auto cluster = cluster_of_.find(node);
      if (cluster == cluster_of_.end()) continue;
      for (const Node* other : clusters_.at(cluster->second)) visit(other);
    }
    return reached;
  }

  // Returns whether there were any.
  bool IncludeNodesBetween() {
    const Marks after = Reach(/*forward=*/true);
    const Marks before = Reach(/*forward=*/false);
    const size_t num_members = members_.size();
    for (Node* node : graph_.op_nodes()) {
      if (after[node->id()] && before[node->id()]) Include(node);
      if (rejected_) return false;
    }
    return members_.size() > num_members;
  }

  void Accept() {
    for (Node* member : members_) {
      if (const auto old = cluster_of_.find(member); old != cluster_of_.end()) {
        clusters_.erase(old->second);
      }
    }
    const int id = next_id_++;
    for (Node* member : members_) cluster_of_[member] = id;
    clusters_[id] = members_;
  }

  const Graph& graph_;
  const std::function<bool(const Node&)>& admits_;
  std::map<int, LoopCluster> clusters_;
  std::map<const Node*, int> cluster_of_;
  int next_id_ = 0;

  // The cluster that is being found.
  LoopCluster members_;
  Marks is_member_;
  bool rejected_ = false;
};

}  // namespace

std::vector<LoopCluster> FindLoopClusters(const Graph& graph, const std::vector<Node*>& loops,
                                          const std::function<bool(const Node& node)>& admits) {
  ClusterFinder finder(graph, admits);
  for (Node* loop : loops) finder.Add(loop);
  return std::move(finder).Clusters();
}

}  // namespace onexpu::tf_plugin
