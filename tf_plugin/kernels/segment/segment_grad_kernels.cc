// SparseSegment*GradV2 on XPU: the gradients of the rows that have indices, and which rows they
// are.
//
// How many these are is known when the kernel has run: it fills upper bounds, and the outputs are
// views of their beginnings.
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tf_plugin/kernels/support/device_count.h"
#include "tf_plugin/kernels/support/dynamic_shape_kernel.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

std::string CombinerOf(absl::string_view op) {
  absl::ConsumePrefix(&op, "SparseSegment");
  absl::ConsumeSuffix(&op, "GradV2");
  return absl::AsciiStrToLower(op);
}

// Inputs: slopes of the segments, indices, numbers of segments, how many rows there are (on the
// host).
class SegmentGradKernel final : public DynamicShapeKernel {
 public:
  explicit SegmentGradKernel(OpKernelConstruction* construction)
      : DynamicShapeKernel(construction), combiner_(CombinerOf(type_string())) {}

 private:
  static int64_t Rows(OpKernelContext* context) { return context->input(3).scalar<int32_t>()(); }

  static TensorShape ShapeOf(OpKernelContext* context, int64_t rows) {
    TensorShape shape = context->input(0).shape();
    shape.set_dim(0, rows);
    return shape;
  }

  static absl::Status CheckShapes(OpKernelContext* context) {
    const TensorShape& indices = context->input(1).shape();
    const TensorShape& segments = context->input(2).shape();
    if (indices.dims() != 1 || indices != segments) {
      return absl::InvalidArgumentError(
          absl::StrCat("segment_ids and indices should be vectors of one size, got shapes ",
                       segments.DebugString(), " and ", indices.DebugString()));
    }
    if (context->input(0).dims() < 1) {
      return absl::InvalidArgumentError("grad should be at least a vector");
    }
    const Tensor& rows = context->input(3);
    if (rows.dims() != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "dense_output_dim0 should be a scalar, got shape ", rows.shape().DebugString()));
    }
    if (Rows(context) < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("dense_output_dim0 should not be negative, got ", Rows(context)));
    }
    return absl::OkStatus();
  }

  static absl::Status OutputNothing(OpKernelContext* context) {
    TF_RETURN_IF_ERROR(OutputUninitialized(context, 0, ShapeOf(context, 0)));
    return OutputUninitialized(context, 1, TensorShape({0}));
  }

  absl::StatusOr<std::vector<OwnedBuffer>> Start(OpKernelContext* context) override {
    TF_RETURN_IF_ERROR(CheckShapes(context));
    if (context->input(1).NumElements() == 0) {
      TF_RETURN_IF_ERROR(OutputNothing(context));
      return std::vector<OwnedBuffer>();
    }
    std::vector<PJRT_Buffer*> operands;
    for (int i = 0; i < 3; ++i) {
      TF_ASSIGN_OR_RETURN(operands.emplace_back(), BufferOf(context->input(i)));
    }
    const Tensor& indices = context->input(1);
    FfiAttributes attributes;
    attributes.Add("rows", Rows(context)).Add("combiner", combiner_);
    const ResultType types[] = {
        {context->input(0).dtype(), ShapeOf(context, indices.NumElements())},
        {indices.dtype(), indices.shape()},
        NumbersType(2),
    };
    return Launch(*context, "onexpu.segment_grad", operands, types, attributes.Build());
  }

  // `numbers`: as segment_grad.h has them.
  absl::Status Finish(OpKernelContext* context, std::vector<OwnedBuffer>& results,
                      absl::Span<const int64_t> numbers) override {
    if (numbers[1] != 0) {
      return absl::InvalidArgumentError(absl::StrCat("an index is out of range [0, ", Rows(context),
                                                     "), or a segment id is out of range [0, ",
                                                     context->input(0).dim_size(0), ")"));
    }
    TF_RETURN_IF_ERROR(CheckCount(*context, numbers[0], context->input(1).NumElements()));
    const TensorShape shape = ShapeOf(context, numbers[0]);
    TF_ASSIGN_OR_RETURN(OwnedBuffer slopes, ViewOf(results[0].get(), shape));
    TF_RETURN_IF_ERROR(SetOutput(context, 0, shape, std::move(slopes)));
    TF_ASSIGN_OR_RETURN(OwnedBuffer rows, ViewOf(results[1].get(), TensorShape({numbers[0]})));
    return SetOutput(context, 1, TensorShape({numbers[0]}), std::move(rows));
  }

  const std::string combiner_;
};

}  // namespace

void RegisterSegmentGradKernels() {
  constexpr tensorflow::DataType kFloating[] = {tensorflow::DT_HALF, tensorflow::DT_BFLOAT16,
                                                tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE};
  for (const char* const op :
       {"SparseSegmentSumGradV2", "SparseSegmentMeanGradV2", "SparseSegmentSqrtNGradV2"}) {
    Register<SegmentGradKernel>(
        XpuKernel(op).TypeConstraint("T", kFloating).HostMemory("dense_output_dim0"));
  }
}

}  // namespace onexpu::tf_plugin
