// Constants of a loop's cluster.
#ifndef TF_PLUGIN_LOOPS_CONSTANT_INPUTS_H_
#define TF_PLUGIN_LOOPS_CONSTANT_INPUTS_H_

#include <functional>

#include "absl/status/status.h"
#include "tensorflow/core/graph/graph.h"
#include "tf_plugin/loops/loop_clusters.h"
#include "tf_plugin/loops/value_origins.h"

namespace onexpu::tf_plugin {

// Adds copies of the constants that `cluster` takes from outside, and of the arithmetic on shapes,
// to `graph` and to the cluster, as far as `admits` accepts the nodes. The compiler knows their
// values then: how often the loop runs, and how long its lists are. A shape's tensor becomes an
// input, so other shapes are other programs.
absl::Status CopyConstantInputs(tensorflow::Graph& graph, LoopCluster& cluster,
                                const std::function<bool(const tensorflow::Node& node)>& admits,
                                ValueOrigins& values);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_LOOPS_CONSTANT_INPUTS_H_
