// OnexpuKernel and OnexpuDynamicKernel inside of compiled programs (jit_compile=True, automatic
// clusters).
#ifndef TF_PLUGIN_ONEXPU_KERNEL_XLA_H_
#define TF_PLUGIN_ONEXPU_KERNEL_XLA_H_

namespace onexpu::tf_plugin {

// Registers their translation, a custom call to "onexpu.kernel", for XLA_XPU_JIT. Call once, before
// XLA's kernels are registered.
void RegisterOnexpuKernelTranslation();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_ONEXPU_KERNEL_XLA_H_
