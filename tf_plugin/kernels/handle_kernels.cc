// Kernels that pass a tensor's handle on: nothing runs on the device.
//
// For most such ops TensorFlow has kernels for any device (DEVICE_DEFAULT) that do just that. Here
// are those that it lacks, or that would read the handle as memory.
#include <algorithm>
#include <utility>

#include "tensorflow/core/kernels/function_ops.h"
#include "tensorflow/core/kernels/identity_op.h"
#include "tensorflow/core/kernels/queue_op.h"
#include "tensorflow/core/kernels/resource_variable_ops.h"
#include "tf_plugin/kernels/support/device_types.h"
#include "tf_plugin/kernels/support/narrow_types.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::PartialTensorShape;
using ::tensorflow::TensorShape;

// A placeholder for a value of the branch that was not taken: its elements are never read, but it
// may be passed on and copied, so it is an ordinary tensor. Unknown dimensions are empty.
class FakeParamKernel final : public OpKernel {
 public:
  explicit FakeParamKernel(OpKernelConstruction* construction) : OpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("dtype", &type_));
    PartialTensorShape shape;
    OP_REQUIRES_OK(construction, construction->GetAttr("shape", &shape));
    if (shape.unknown_rank()) return;
    for (const int64_t dimension : shape.dim_sizes()) {
      OP_REQUIRES_OK(construction, shape_.AddDimWithStatus(std::max<int64_t>(dimension, 0)));
    }
  }

  void Compute(OpKernelContext* context) override {
    absl::StatusOr<OwnedBuffer> buffer = UninitializedBuffer(*context, type_, shape_);
    OP_REQUIRES_OK(context, buffer.status());
    OP_REQUIRES_OK(context, SetOutput(context, 0, shape_, std::move(*buffer)));
  }

 private:
  tensorflow::DataType type_;
  TensorShape shape_;
};

}  // namespace

void RegisterHandleKernels() {
  using tensorflow::IdentityOp;
  Register<IdentityOp>(XpuKernel("Snapshot").TypeConstraint("T", kDeviceTypes));
  // The debugger's Copy wants a value that stays, and a tensor's elements never change.
  Register<IdentityOp>(XpuKernel("Copy").TypeConstraint("T", kDeviceTypes));
  Register<IdentityOp>(XpuKernel("DeepCopy").TypeConstraint("T", kDeviceTypes));
  // TensorFlow keeps int32 variables off its accelerators. Compiled steps could not reach them
  // there.
  Register<tensorflow::VarHandleOp>(
      XpuKernel("VarHandleOp").TypeConstraint<int32_t>("dtype").HostMemory("resource"));
  // TensorFlow's kernel for any device writes its answer where it is, and that would be a handle.
  Register<tensorflow::QueueIsClosedOp>(
      XpuKernel("QueueIsClosedV2").HostMemory("handle").HostMemory("is_closed"));
  // TensorFlow has those of all other types for any device.
  constexpr DataType kHandedOn[] = {
      tensorflow::DT_QINT16, tensorflow::DT_QUINT16, tensorflow::DT_FLOAT8_E4M3FNUZ,
      tensorflow::DT_FLOAT8_E4M3B11FNUZ, tensorflow::DT_FLOAT8_E5M2FNUZ};
  Register<tensorflow::ArgOp>(XpuKernel("_Arg").TypeConstraint("T", kHandedOn));
  Register<tensorflow::RetvalOp>(XpuKernel("_Retval").TypeConstraint("T", kHandedOn));
  for (const char* const op : {"_EagerConst", "Identity", "StopGradient"}) {
    Register<IdentityOp>(XpuKernel(op).TypeConstraint("T", kEightBitFloats));
  }
  Register<FakeParamKernel>(XpuKernel("FakeParam").TypeConstraint("dtype", kDeviceTypes));
}

}  // namespace onexpu::tf_plugin
