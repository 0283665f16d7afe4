// How this room's kernels are registered with TensorFlow.
//
// Registration happens in TF_InitKernel and not in static initialisers: its order is written down,
// and a process that only reads symbols of this library gets no kernels.
#ifndef TF_PLUGIN_KERNELS_SUPPORT_REGISTRATION_H_
#define TF_PLUGIN_KERNELS_SUPPORT_REGISTRATION_H_

#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/kernel_def_builder.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/core/core_api.h"

namespace onexpu::tf_plugin {

// Starts the definition of a kernel for `op` on XPU.
class XpuKernel : public tensorflow::KernelDefBuilder {
 public:
  explicit XpuKernel(const char* op) : KernelDefBuilder(op) { Device(kDeviceType); }
};

template <typename Kernel>
void Register(tensorflow::KernelDefBuilder& definition, const char* class_name = "onexpu") {
  tensorflow::kernel_factory::OpKernelRegistrar registrar(
      definition.Build(), class_name,
      [](tensorflow::OpKernelConstruction* construction) -> tensorflow::OpKernel* {
        return new Kernel(construction);
      });
}

template <typename Kernel>
void Register(tensorflow::KernelDefBuilder&& definition, const char* class_name = "onexpu") {
  Register<Kernel>(definition, class_name);
}

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_SUPPORT_REGISTRATION_H_
