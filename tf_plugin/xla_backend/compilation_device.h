// The device that tf2xla's kernels are registered for: graphs are translated there, and run on XPU.
#ifndef TF_PLUGIN_XLA_BACKEND_COMPILATION_DEVICE_H_
#define TF_PLUGIN_XLA_BACKEND_COMPILATION_DEVICE_H_

namespace onexpu::tf_plugin {

inline constexpr char kCompilationDevice[] = "XLA_XPU_JIT";

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_XLA_BACKEND_COMPILATION_DEVICE_H_
