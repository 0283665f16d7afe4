// OnexpuImport, OnexpuExport and OnexpuBufferAddress: the hand-over of device memory between
// TensorFlow and JAX. onexpu.to_tensor and onexpu.to_jax are made of them.
#include <utility>

#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/core/core_api.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

absl::Status OutputAddress(OpKernelContext* context, const void* address) {
  Tensor* output = nullptr;
  TF_RETURN_IF_ERROR(context->allocate_output(0, TensorShape({2}), &output));
  const auto bits = reinterpret_cast<uintptr_t>(address);
  output->vec<int32_t>()(0) = static_cast<int32_t>(static_cast<uint32_t>(bits));
  output->vec<int32_t>()(1) = static_cast<int32_t>(static_cast<uint32_t>(bits >> 32));
  return absl::OkStatus();
}

class OnexpuImport final : public OpKernel {
 public:
  explicit OnexpuImport(OpKernelConstruction* construction) : OpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("dtype", &type_));
    OP_REQUIRES_OK(construction, construction->GetAttr("shape", &shape_));
    OP_REQUIRES_OK(construction, construction->GetAttr("slot", &slot_));
  }

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Import(context)); }

 private:
  absl::Status Import(OpKernelContext* context) const {
    TF_ASSIGN_OR_RETURN(const OnexpuLaunchExtension* extension, LaunchExtension());
    const auto dimensions = shape_.dim_sizes();
    OnexpuImportBufferArgs args{};
    args.struct_size = sizeof(args);
    TF_ASSIGN_OR_RETURN(args.client, TensorFlowClient());
    TF_ASSIGN_OR_RETURN(args.element_type, BufferTypeOf(type_));
    args.slot = slot_;
    args.dimensions = dimensions.data();
    args.rank = dimensions.size();
    TF_RETURN_IF_ERROR(ToStatus(extension->import_buffer(&args)));
    return SetOutput(context, 0, shape_, OwnedBuffer(args.buffer));
  }

  tensorflow::DataType type_;
  TensorShape shape_;
  int64_t slot_ = 0;
};

class OnexpuExport final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Export(context)); }

 private:
  static absl::Status Export(OpKernelContext* context) {
    TF_ASSIGN_OR_RETURN(const OnexpuLaunchExtension* extension, LaunchExtension());
    OnexpuExportBufferArgs args{};
    args.struct_size = sizeof(args);
    TF_ASSIGN_OR_RETURN(args.buffer, BufferOf(context->input(0)));
    TF_RETURN_IF_ERROR(ToStatus(extension->export_buffer(&args)));
    return OutputAddress(context, args.device_address);
  }
};

class OnexpuBufferAddress final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Address(context)); }

 private:
  static absl::Status Address(OpKernelContext* context) {
    PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args args{};
    args.struct_size = PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args_STRUCT_SIZE;
    TF_ASSIGN_OR_RETURN(args.buffer, BufferOf(context->input(0)));
    TF_RETURN_IF_ERROR(ToStatus(CoreApi().PJRT_Buffer_OpaqueDeviceMemoryDataPointer(&args)));
    return OutputAddress(context, args.device_memory_ptr);
  }
};

}  // namespace

void RegisterHandOverOps() {
  Register<OnexpuImport>(XpuKernel("OnexpuImport"));
  Register<OnexpuExport>(XpuKernel("OnexpuExport").HostMemory("address"));
  Register<OnexpuBufferAddress>(XpuKernel("OnexpuBufferAddress").HostMemory("address"));
}

}  // namespace onexpu::tf_plugin
