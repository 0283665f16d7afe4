// SyncDevice: what tf.test.experimental.sync_devices asks of every device.
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/kernels/support/registration.h"

namespace onexpu::tf_plugin {
namespace {

// Waits, on the thread that asks.
class SyncDeviceKernel final : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(tensorflow::OpKernelContext* context) override {
    auto* const device = dynamic_cast<tensorflow::Device*>(context->device());
    OP_REQUIRES(context, device != nullptr,
                absl::InternalError("onexpu: SyncDevice runs on no device"));
    OP_REQUIRES_OK(context, device->Sync());
  }
};

}  // namespace

void RegisterSyncDeviceKernel() { Register<SyncDeviceKernel>(XpuKernel("SyncDevice")); }

}  // namespace onexpu::tf_plugin
