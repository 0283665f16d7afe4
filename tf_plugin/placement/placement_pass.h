// Which ops of a graph run on the host, for the placement report.
//
// TensorFlow's executor does not tell what it runs. But every graph passes by here once, when it
// has been placed, optimised, clustered and cut by device. The pass notes the ops that TensorFlow's
// CPU code will run, and adds a node that counts how often the graph does; nothing else of it
// changes. (Compiled programs, on-demand and SYCL kernels count themselves.)
#ifndef TF_PLUGIN_PLACEMENT_PLACEMENT_PASS_H_
#define TF_PLUGIN_PLACEMENT_PLACEMENT_PASS_H_

namespace onexpu::tf_plugin {

// Registers the pass with TensorFlow. Call once, before graphs are made.
void RegisterPlacementPass();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_PLACEMENT_PLACEMENT_PASS_H_
