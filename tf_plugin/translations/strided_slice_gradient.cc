// StridedSliceGrad: the gradient of a slice, with zeros for the elements that the slice leaves out.
//
// TensorFlow's translation computes how far to pad from the slice's last element, and so pads an
// empty slice with a stride to a wrong shape. The gradient of an empty slice is all zeros; every
// other slice is left to TensorFlow's translation, made as the CPU's.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/util/strided_slice_op.h"
#include "tf_plugin/translations/cpu_translation.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// Inputs: the shape of what was sliced, begin, end, strides, the slice's gradient.
class StridedSliceGradient final : public XlaOpKernel {
 public:
  explicit StridedSliceGradient(OpKernelConstruction* construction) : XlaOpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("begin_mask", &begin_mask_));
    OP_REQUIRES_OK(construction, construction->GetAttr("end_mask", &end_mask_));
    OP_REQUIRES_OK(construction, construction->GetAttr("ellipsis_mask", &ellipsis_mask_));
    OP_REQUIRES_OK(construction, construction->GetAttr("new_axis_mask", &new_axis_mask_));
    OP_REQUIRES_OK(construction, construction->GetAttr("shrink_axis_mask", &shrink_axis_mask_));
    OP_REQUIRES_OK(construction, MakeCpuTranslation(*construction, def(), &nonempty_));
  }

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, Translate(context));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const {
    if (context->InputShape(4).num_elements() > 0) {
      nonempty_->Compute(context->op_kernel_context());
      return absl::OkStatus();
    }
    TensorShape shape;
    TF_RETURN_IF_ERROR(
        context->ConstantInputAsShape(0, &shape, xla::ValueInferenceMode::kUpperBound));
    TF_RETURN_IF_ERROR(CheckSlice(context, shape));
    XlaOp zeros = xla::Broadcast(xla::Zero(context->builder(), context->input_xla_type(4)),
                                 shape.dim_sizes());
    std::vector<bool> is_dynamic;
    TF_RETURN_IF_ERROR(context->ResolveInputDynamismIntoPredVector(0, &is_dynamic));
    for (int64_t i = 0; i < shape.dims(); ++i) {
      if (!is_dynamic[i]) continue;
      const XlaOp size = xla::Reshape(xla::Slice(context->Input(0), {i}, {i + 1}, {1}), {});
      zeros = xla::SetDimensionSize(zeros, xla::ConvertElementType(size, xla::S32), i);
    }
    context->SetOutput(0, zeros);
    return absl::OkStatus();
  }

  // INVALID_ARGUMENT if the gradient has another shape than the slice.
  absl::Status CheckSlice(XlaOpKernelContext* context, const TensorShape& shape) const {
    const absl::StatusOr<Tensor> begin_tensor = context->ConstantInputTensor(1);
    const absl::StatusOr<Tensor> end_tensor = context->ConstantInputTensor(2);
    // The size of such a slice is known only when the program runs.
    if (!begin_tensor.ok() || !end_tensor.ok()) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(const Tensor strides_tensor, context->ConstantInputTensor(3));
    TensorShape counts, slice;
    bool is_identity, is_simple, is_of_rows;
    absl::InlinedVector<int64_t, 4> begin, end, strides;
    TF_RETURN_IF_ERROR(tensorflow::ValidateStridedSliceOp(
        &*begin_tensor, &*end_tensor, strides_tensor, shape, begin_mask_, end_mask_, ellipsis_mask_,
        new_axis_mask_, shrink_axis_mask_, &counts, &slice, &is_identity, &is_simple, &is_of_rows,
        &begin, &end, &strides));
    if (slice == context->InputShape(4)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("shape of dy was ",
                                                   context->InputShape(4).DebugString(),
                                                   " instead of ", slice.DebugString()));
  }

  int32_t begin_mask_, end_mask_, ellipsis_mask_, new_axis_mask_, shrink_axis_mask_;
  std::unique_ptr<OpKernel> nonempty_;
};

}  // namespace

void RegisterStridedSliceGradient() {
  RegisterTranslation<StridedSliceGradient>(std::move(TranslationOf("StridedSliceGrad")
                                                          .CompileTimeConstantInput("shape")
                                                          .CompileTimeConstantInput("begin")
                                                          .CompileTimeConstantInput("end")
                                                          .CompileTimeConstantInput("strides")));
}

}  // namespace onexpu::tf_plugin
