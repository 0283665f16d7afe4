// Where on XPU: coordinates of the elements that are not zero. tf.boolean_mask works through it.
//
// How many there are is known when the kernel has run: it fills an upper bound, and the output is a
// view of the leading rows.
#include <utility>
#include <vector>

#include "tf_plugin/kernels/support/device_count.h"
#include "tf_plugin/kernels/support/device_types.h"
#include "tf_plugin/kernels/support/dynamic_shape_kernel.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

class WhereKernel final : public DynamicShapeKernel {
 public:
  using DynamicShapeKernel::DynamicShapeKernel;

 private:
  absl::StatusOr<std::vector<OwnedBuffer>> Start(OpKernelContext* context) override {
    const Tensor& input = context->input(0);
    if (input.NumElements() == 0) {
      TF_RETURN_IF_ERROR(OutputEmpty(context, 0, input.dims()));
      return std::vector<OwnedBuffer>();
    }
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * operand, BufferOf(input));
    const ResultType types[] = {
        {tensorflow::DT_INT64, TensorShape({input.NumElements(), input.dims()})}, NumbersType(1)};
    FfiAttributes attributes;
    return Launch(*context, "onexpu.where", {operand}, types, attributes.Build());
  }

  absl::Status Finish(OpKernelContext* context, std::vector<OwnedBuffer>& results,
                      absl::Span<const int64_t> numbers) override {
    const int64_t count = numbers[0];
    TF_RETURN_IF_ERROR(CheckCount(*context, count, context->input(0).NumElements()));
    const int rank = context->input(0).dims();
    if (count == 0 || rank == 0) return OutputEmpty(context, count, rank);
    const TensorShape shape({count, rank});
    TF_ASSIGN_OR_RETURN(OwnedBuffer view, ViewOf(results[0].get(), shape));
    return SetOutput(context, 0, shape, std::move(view));
  }

  // No rows, or the one coordinate-less row of a scalar that is not zero.
  static absl::Status OutputEmpty(OpKernelContext* context, int64_t rows, int rank) {
    const TensorShape shape({rows, rank});
    return OutputUninitialized(context, 0, shape);
  }
};

}  // namespace

void RegisterWhereKernel() {
  Register<WhereKernel>(XpuKernel("Where").TypeConstraint("T", kDeviceTypes));
}

}  // namespace onexpu::tf_plugin
