// StridedSliceGrad: the gradient of a slice, with zeros for the elements that the slice leaves out.
//
// TensorFlow's translation computes how far to pad from the slice's last element, and so pads an
// empty slice with a stride to a wrong shape. The gradient of an empty slice is all zeros; every
// other slice is left to TensorFlow's translation, made as the CPU's.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/util/strided_slice_op.h"
#include "tf_plugin/translations/cpu_translation.h"
#include "tf_plugin/translations/dynamic_sizes/slice_bounds.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/arithmetic.h"
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
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// Inputs: the shape of what was sliced, begin, end, strides, the slice's gradient.
class StridedSliceGradient final : public Translation {
 public:
  explicit StridedSliceGradient(OpKernelConstruction* construction) : Translation(construction) {
    OP_REQUIRES_OK(construction, masks_.Read(*construction));
    OP_REQUIRES_OK(construction, MakeCpuTranslation(*construction, def(), &nonempty_));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    std::vector<bool> is_dynamic;
    TF_RETURN_IF_ERROR(context->ResolveInputDynamismIntoPredVector(0, &is_dynamic));
    const bool is_empty = context->InputShape(4).num_elements() == 0;
    if (!is_empty && absl::c_linear_search(is_dynamic, true)) {
      TF_ASSIGN_OR_RETURN(const auto slices,
                          SliceDimensions(context, 1, masks_, is_dynamic.size()));
      if (slices.has_value() && CutsDynamicDimension(*slices, is_dynamic)) {
        return Scatter(context, is_dynamic, *slices);
      }
    }
    if (!is_empty) {
      nonempty_->Compute(context->op_kernel_context());
      return absl::OkStatus();
    }
    TensorShape shape;
    TF_RETURN_IF_ERROR(
        context->ConstantInputAsShape(0, &shape, xla::ValueInferenceMode::kUpperBound));
    TF_RETURN_IF_ERROR(CheckSlice(context, shape));
    XlaOp zeros = xla::Broadcast(xla::Zero(context->builder(), context->input_xla_type(4)),
                                 shape.dim_sizes());
    for (int64_t i = 0; i < shape.dims(); ++i) {
      if (is_dynamic[i]) zeros = xla::SetDimensionSize(zeros, Size(context, i), i);
    }
    context->SetOutput(0, zeros);
    return absl::OkStatus();
  }

  // The size of a dimension of what was sliced.
  static XlaOp Size(XlaOpKernelContext* context, int64_t dimension) {
    const XlaOp size =
        xla::Reshape(xla::Slice(context->Input(0), {dimension}, {dimension + 1}, {1}), {});
    return xla::ConvertElementType(size, xla::S32);
  }

  // Adds the gradient to zeros at the indices of the slice, one dimension after another.
  static absl::Status Scatter(XlaOpKernelContext* context, const std::vector<bool>& is_dynamic,
                              const std::vector<SliceDimension>& slices) {
    TensorShape shape;
    TF_RETURN_IF_ERROR(
        context->ConstantInputAsShape(0, &shape, xla::ValueInferenceMode::kUpperBound));
    TF_ASSIGN_OR_RETURN(const xla::Shape found, context->InputXlaShape(4));
    XlaOp gradient = context->Input(4);
    // The operand's dimensions, with those of single elements and without new axes.
    std::vector<int64_t> sizes;
    int64_t from = 0;
    for (const SliceDimension& slice : slices) {
      if (slice.operand >= 0) sizes.push_back(slice.is_element ? 1 : found.dimensions(from));
      if (!slice.is_element) ++from;
    }
    for (int64_t d = 0; d < static_cast<int64_t>(found.dimensions().size()); ++d) {
      if (found.is_dynamic_dimension(d)) gradient = xla::RemoveDynamicDimension(gradient, d);
    }
    gradient = xla::Reshape(gradient, sizes);
    xla::XlaBuilder* const builder = context->builder();
    const xla::PrimitiveType type = context->input_xla_type(4);
    for (const SliceDimension& slice : slices) {
      if (slice.operand < 0 || slice.is_whole()) continue;
      const int64_t d = slice.operand, count = sizes[d], bound = shape.dim_size(d);
      const SliceIndices taken = IndicesOf(slice, Size(context, d), count);
      // What is beyond the slice goes beyond the array, where scatters drop it.
      const XlaOp is_taken =
          xla::Lt(xla::Iota(builder, xla::S32, count), xla::Broadcast(taken.count, {count}));
      const XlaOp indices =
          xla::Select(is_taken, taken.indices,
                      xla::Broadcast(xla::ConstantR0<int32_t>(builder, bound), {count}));
      sizes[d] = bound;
      xla::ScatterDimensionNumbers numbers;
      numbers.set_index_vector_dim(1);
      numbers.add_inserted_window_dims(d);
      numbers.add_scatter_dims_to_operand_dims(d);
      for (int64_t window = 0; window < static_cast<int64_t>(sizes.size()); ++window) {
        if (window != d) numbers.add_update_window_dims(window);
      }
      gradient = xla::Scatter(xla::Broadcast(xla::Zero(builder, type), sizes), indices, gradient,
                              xla::CreateScalarAddComputation(type, builder), numbers);
    }
    for (int64_t d = 0; d < shape.dims(); ++d) {
      if (is_dynamic[d]) gradient = xla::SetDimensionSize(gradient, Size(context, d), d);
    }
    context->SetOutput(0, gradient);
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
        &*begin_tensor, &*end_tensor, strides_tensor, shape, masks_.begin, masks_.end,
        masks_.ellipsis, masks_.new_axis, masks_.shrink, &counts, &slice, &is_identity, &is_simple,
        &is_of_rows, &begin, &end, &strides));
    if (slice == context->InputShape(4)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("shape of dy was ",
                                                   context->InputShape(4).DebugString(),
                                                   " instead of ", slice.DebugString()));
  }

  SliceMasks masks_;
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
