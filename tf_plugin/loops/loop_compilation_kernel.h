// The kernel that decides, each time a loop runs, whether its program or its ops do.
#ifndef TF_PLUGIN_LOOPS_LOOP_COMPILATION_KERNEL_H_
#define TF_PLUGIN_LOOPS_LOOP_COMPILATION_KERNEL_H_

namespace onexpu::tf_plugin {

// Registers a kernel for _XlaCompile on XPU. For the clusters of loops (loop_passes.h) it differs
// from TensorFlow's in two ways:
// - A loop is compiled when it has run a few times (LoopRunsByOps). Shapes that come later are
//   compiled when they come for the second time, as with TensorFlow.
// - What cannot be compiled (shapes that differ between iterations, sizes that are not known) runs
//   op by op for good, whatever error the compiler gives: nobody asked for the program.
void RegisterLoopCompilationKernel();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_LOOPS_LOOP_COMPILATION_KERNEL_H_
