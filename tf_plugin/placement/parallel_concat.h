// ParallelConcat (tf.parallel_stack) on XPU.
//
// TensorFlow replaces it by an array into which its operands are written one by one, in any order:
// every kernel writes into a tensor that has other owners. Arrays of this device are immutable once
// they have an owner. The pass replaces the op by a ConcatV2 before TensorFlow's rewrite.
#ifndef TF_PLUGIN_PLACEMENT_PARALLEL_CONCAT_H_
#define TF_PLUGIN_PLACEMENT_PARALLEL_CONCAT_H_

namespace onexpu::tf_plugin {

// Registers the pass with TensorFlow. Call once, before graphs are made.
void RegisterParallelConcatPass();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_PLACEMENT_PARALLEL_CONCAT_H_
