// Reshape, ExpandDims and Squeeze: the same memory as an array of another shape.
//
// TensorFlow's kernels compute the new shape and check it, and give the old tensor that shape. That
// is half of it on XPU: the PJRT buffer behind the tensor carries a shape, too, which programs
// check.
#include <memory>
#include <utility>

#include "absl/types/span.h"
#include "tensorflow/core/kernels/reshape_op.h"
#include "tensorflow/core/kernels/shape_ops.h"
#include "tf_plugin/kernels/support/device_types.h"
#include "tf_plugin/kernels/support/narrow_types.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// `Base` sets output 0 to input 0 with another shape, without a look at its elements.
template <typename Base>
class ReshapingKernel final : public Base {
 public:
  using Base::Base;

  void Compute(OpKernelContext* context) override {
    Base::Compute(context);
    if (!context->status().ok()) return;
    const std::unique_ptr<Tensor> reshaped(context->release_output(0).tensor);
    OP_REQUIRES_OK(context, Output(context, reshaped->shape()));
  }

  bool IsExpensive() override { return false; }

 private:
  static absl::Status Output(OpKernelContext* context, const TensorShape& shape) {
    const Tensor& input = context->input(0);
    if (shape == input.shape()) {
      context->set_output(0, input);
      return absl::OkStatus();
    }
    // What came from the host without elements has no buffer.
    if (shape.num_elements() == 0) return OutputUninitialized(context, 0, shape);
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * buffer, BufferOf(input));
    TF_ASSIGN_OR_RETURN(OwnedBuffer view, ViewOf(buffer, shape));
    return SetOutput(context, 0, shape, std::move(view));
  }
};

}  // namespace

void RegisterShapeKernels() {
  for (const absl::Span<const DataType> types :
       {absl::Span<const DataType>(kDeviceTypes), absl::Span<const DataType>(kEightBitFloats)}) {
    Register<ReshapingKernel<tensorflow::ReshapeOp>>(
        XpuKernel("Reshape").TypeConstraint("T", types).HostMemory("shape"));
    Register<ReshapingKernel<tensorflow::ExpandDimsOp<int32_t>>>(
        XpuKernel("ExpandDims")
            .TypeConstraint("T", types)
            .TypeConstraint<int32_t>("Tdim")
            .HostMemory("dim"));
    Register<ReshapingKernel<tensorflow::ExpandDimsOp<int64_t>>>(
        XpuKernel("ExpandDims")
            .TypeConstraint("T", types)
            .TypeConstraint<int64_t>("Tdim")
            .HostMemory("dim"));
    Register<ReshapingKernel<tensorflow::SqueezeOp>>(
        XpuKernel("Squeeze").TypeConstraint("T", types));
  }
}

}  // namespace onexpu::tf_plugin
