// Unique and its kind on XPU: distinct elements, in the order in which they first come.
//
// How many there are is known when the kernel has run: it fills upper bounds, and the outputs are
// views of their beginnings.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/kernels/support/device_count.h"
#include "tf_plugin/kernels/support/device_types.h"
#include "tf_plugin/kernels/support/dynamic_shape_kernel.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

class UniqueKernel final : public DynamicShapeKernel {
 public:
  explicit UniqueKernel(OpKernelConstruction* construction)
      : DynamicShapeKernel(construction), with_counts_(num_outputs() == 3) {
    attributes_.Build();
  }

 private:
  absl::Status CheckShapes(OpKernelContext* context) const {
    const TensorShape& shape = context->input(0).shape();
    if (shape.dims() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("unique expects a 1D vector, got shape ", shape.DebugString()));
    }
    return absl::OkStatus();
  }

  absl::Status OutputEmpty(OpKernelContext* context) const {
    for (int i = 0; i < num_outputs(); ++i) {
      TF_RETURN_IF_ERROR(OutputUninitialized(context, i, TensorShape({0})));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<OwnedBuffer>> Start(OpKernelContext* context) override {
    TF_RETURN_IF_ERROR(CheckShapes(context));
    const Tensor& input = context->input(0);
    if (input.NumElements() == 0) {
      TF_RETURN_IF_ERROR(OutputEmpty(context));
      return std::vector<OwnedBuffer>();
    }
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * operand, BufferOf(input));
    const ResultType types[] = {{input.dtype(), input.shape()},
                                {output_type(1), input.shape()},
                                {output_type(1), with_counts_ ? input.shape() : TensorShape({0})},
                                NumbersType(1)};
    return Launch(*context, "onexpu.unique", {operand}, types, attributes_.attrs());
  }

  // `results`: elements and counts, of which the beginning is filled, around the indices.
  absl::Status Finish(OpKernelContext* context, std::vector<OwnedBuffer>& results,
                      absl::Span<const int64_t> numbers) override {
    TF_RETURN_IF_ERROR(CheckCount(*context, numbers[0], context->input(0).NumElements()));
    const TensorShape distinct({numbers[0]});
    TF_ASSIGN_OR_RETURN(OwnedBuffer elements, ViewOf(results[0].get(), distinct));
    TF_RETURN_IF_ERROR(SetOutput(context, 0, distinct, std::move(elements)));
    TF_RETURN_IF_ERROR(SetOutput(context, 1, context->input(0).shape(), std::move(results[1])));
    if (!with_counts_) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(OwnedBuffer counts, ViewOf(results[2].get(), distinct));
    return SetOutput(context, 2, distinct, std::move(counts));
  }

  const bool with_counts_;
  FfiAttributes attributes_;
};

}  // namespace

void RegisterUniqueKernels() {
  // UniqueV2 and its kind also tell slices apart: TensorFlow runs them on the host beside its other
  // accelerators, too.
  for (const char* const op : {"Unique", "UniqueWithCounts"})
    Register<UniqueKernel>(XpuKernel(op).TypeConstraint("T", kRealDeviceTypes));
}

}  // namespace onexpu::tf_plugin
