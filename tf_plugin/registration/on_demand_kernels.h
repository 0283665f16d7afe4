// On-demand kernels: an op that stands alone on the device is compiled by XLA as a program of its
// own.
#ifndef TF_PLUGIN_REGISTRATION_ON_DEMAND_KERNELS_H_
#define TF_PLUGIN_REGISTRATION_ON_DEMAND_KERNELS_H_

namespace onexpu::tf_plugin {

// Registers one for each op that tf2xla can compile and on_demand_exceptions.h does not name. Call
// once, after the XLA backend is registered.
void RegisterOnDemandKernels();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_REGISTRATION_ON_DEMAND_KERNELS_H_
