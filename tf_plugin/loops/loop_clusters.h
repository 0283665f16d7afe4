// The parts of a graph that are compiled together with a loop.
#ifndef TF_PLUGIN_LOOPS_LOOP_CLUSTERS_H_
#define TF_PLUGIN_LOOPS_LOOP_CLUSTERS_H_

#include <functional>
#include <vector>

#include "tensorflow/core/graph/graph.h"

namespace onexpu::tf_plugin {

// One or several loops, and the other nodes of a program. Each node is in one cluster at most.
using LoopCluster = std::vector<tensorflow::Node*>;

// Finds the clusters around `loops`, which are While and StatelessWhile nodes of `graph`. The value
// of a tensor list exists within a program only, so a cluster holds all nodes that exchange lists
// with its loops: what makes a list, what reads it, and the loop of the gradient that takes what
// the loop has left there. It holds what lies between any two of its nodes, too, because it runs as
// one node, on one device. A loop is in no cluster if its cluster would hold a node that `admits`
// does not accept, or one that is placed elsewhere.
std::vector<LoopCluster> FindLoopClusters(
    const tensorflow::Graph& graph, const std::vector<tensorflow::Node*>& loops,
    const std::function<bool(const tensorflow::Node& node)>& admits);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_LOOPS_LOOP_CLUSTERS_H_
