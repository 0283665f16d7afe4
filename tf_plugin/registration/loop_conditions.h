// Keeps the logic of loop conditions where its operands are.
//
// A loop's counter and bound are integers of 32 bits, which TensorFlow has in host memory, and so
// are comparisons of them. `counter < bound and more()` is a LogicalAnd, though, which computes on
// the device: in every iteration two booleans would go there, and the host would wait for a third
// to come back. The pass gives such nodes a kernel that stays on the host.
#ifndef TF_PLUGIN_REGISTRATION_LOOP_CONDITIONS_H_
#define TF_PLUGIN_REGISTRATION_LOOP_CONDITIONS_H_

namespace onexpu::tf_plugin {

// Registers the pass with TensorFlow. Call once, before graphs are made.
void RegisterLoopConditionPass();

// Registers the kernels that the pass chooses.
void RegisterHostLogicKernels();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_REGISTRATION_LOOP_CONDITIONS_H_
