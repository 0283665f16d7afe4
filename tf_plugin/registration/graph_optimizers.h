// TensorFlow's graph optimisers (Grappler) in graphs with ops on XPU.
#ifndef TF_PLUGIN_REGISTRATION_GRAPH_OPTIMIZERS_H_
#define TF_PLUGIN_REGISTRATION_GRAPH_OPTIMIZERS_H_

namespace onexpu::tf_plugin {

// Turns the memory optimiser off in graphs with ops on XPU. It takes sums of large tensors apart,
// so that their terms need not exist at once: a temporary variable, `Assign` and `AssignAdd`, which
// have no kernels on XPU. It knows no XPU devices and counts their tensors as the CPU device's,
// which has 256 MiB, so it saw a shortage where there was none. Call once, before graphs are made.
void ConfigureGraphOptimizers();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_REGISTRATION_GRAPH_OPTIMIZERS_H_
