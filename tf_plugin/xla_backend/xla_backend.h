// The XLA backend of the device: which types XLA may compile for it, and when TensorFlow clusters
// ops on it.
#ifndef TF_PLUGIN_XLA_BACKEND_XLA_BACKEND_H_
#define TF_PLUGIN_XLA_BACKEND_XLA_BACKEND_H_

namespace onexpu::tf_plugin {

// Registers the backend, XPU as a device that may be clustered, and PJRT as the way to run clusters
// there. Call once, before XLA's kernels are registered.
void RegisterXlaBackend();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_XLA_BACKEND_XLA_BACKEND_H_
