// Every kernel of the XPU device, registered from one place.
//
// Registration happens in TF_InitKernel, not in static initialisers: a process that only reads
// symbols of this library gets no kernels, and the order is written down. Each file of kernels
// offers one function here.
#ifndef TF_PLUGIN_REGISTRATION_KERNEL_REGISTRATION_H_
#define TF_PLUGIN_REGISTRATION_KERNEL_REGISTRATION_H_

namespace onexpu::tf_plugin {

void RegisterKernels();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_REGISTRATION_KERNEL_REGISTRATION_H_
