// The kernel that decides, each time a loop runs, whether its program or its ops do.
#ifndef TF_PLUGIN_LOOPS_LOOP_COMPILATION_KERNEL_H_
#define TF_PLUGIN_LOOPS_LOOP_COMPILATION_KERNEL_H_

namespace onexpu::tf_plugin {

// Registers a kernel for _XlaCompile on XPU. For the clusters of loops (loop_passes.h) it differs
// from TensorFlow's in two ways:
// - A loop is compiled for operands when its ops have succeeded for such operands a few times
//   (LoopRunsByOps, loop_runs.h).
// - What cannot be compiled (shapes that differ between iterations, sizes that are not known) runs
//   op by op for good, whatever error the compiler gives.
void RegisterLoopCompilationKernel();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_LOOPS_LOOP_COMPILATION_KERNEL_H_
