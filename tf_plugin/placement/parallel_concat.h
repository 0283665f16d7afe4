// ParallelConcat (tf.parallel_stack) on XPU.
//
// TensorFlow makes of it an array that its operands are written into, one by one, each as it comes:
// every kernel writes into a tensor that others hold. Arrays of this device are not written to once
// they are somebody's. The pass makes a ConcatV2 of it before TensorFlow comes to do that.
#ifndef TF_PLUGIN_PLACEMENT_PARALLEL_CONCAT_H_
#define TF_PLUGIN_PLACEMENT_PARALLEL_CONCAT_H_

namespace onexpu::tf_plugin {

// Registers the pass with TensorFlow. Call once, before graphs are made.
void RegisterParallelConcatPass();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_PLACEMENT_PARALLEL_CONCAT_H_
