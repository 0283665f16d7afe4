// Conv2DBackpropInput and its kind: what TensorFlow's translations compute, and two things that its
// kernels do besides. Without elements to convolve the gradient is zero, in the shape that the op
// names (the translation gives another shape); and of a 2-D convolution the op may name the two
// spatial sizes alone. Images with dynamic dimensions are left to TensorFlow's translations.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/compiler/tf2xla/kernels/conv_op_helpers.h"
#include "tensorflow/compiler/tf2xla/shape_util.h"
#include "tensorflow/core/util/tensor_format.h"
#include "tf_plugin/translations/cpu_translation.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;

// Inputs: the shape of the images, the filter, the slopes of the result.
class ConvInputGradient final : public Translation {
 public:
  explicit ConvInputGradient(OpKernelConstruction* construction) : Translation(construction) {
    const absl::string_view op = type_string();
    const bool is_depthwise = op == "DepthwiseConv2dNativeBackpropInput";
    auto attributes = tensorflow::ConvOpAttrs::Create(op == "Conv3DBackpropInputV2" ? 3 : 2,
                                                      is_depthwise, construction);
    OP_REQUIRES_OK(construction, attributes.status());
    attributes_ = *std::move(attributes);
    OP_REQUIRES_OK(construction, MakeCpuTranslation(*construction, def(), &dynamic_));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    std::vector<bool> is_dynamic;
    TF_RETURN_IF_ERROR(context->ResolveInputDynamismIntoPredVector(0, &is_dynamic));
    if (absl::c_linear_search(is_dynamic, true)) {
      dynamic_->Compute(context->op_kernel_context());
      return absl::OkStatus();
    }
    TF_ASSIGN_OR_RETURN(const TensorShape images, Images(context));
    xla::Shape shape;
    TF_RETURN_IF_ERROR(tensorflow::TensorShapeToXLAShape(context->input_type(1), images, &shape));
    const bool is_empty = images.num_elements() == 0 ||
                          context->InputShape(1).num_elements() == 0 ||
                          context->InputShape(2).num_elements() == 0;
    if (is_empty) {
      context->SetOutput(0, xla::Zeros(context->builder(), shape));
      return absl::OkStatus();
    }
    TF_ASSIGN_OR_RETURN(const xla::XlaOp gradient, tensorflow::MakeXlaBackpropInputConvOp(
                                                       type_string(), shape, context->Input(1),
                                                       context->Input(2), attributes_));
    context->SetOutput(0, gradient);
    return absl::OkStatus();
  }

  absl::StatusOr<TensorShape> Images(XlaOpKernelContext* context) const {
    std::vector<int64_t> sizes;
    TF_RETURN_IF_ERROR(context->ConstantInputAsIntVector(0, &sizes));
    TensorShape named;
    TF_RETURN_IF_ERROR(tensorflow::TensorShapeUtils::MakeShape(sizes, &named));
    const TensorShape filter = context->InputShape(1), slopes = context->InputShape(2);
    const bool names_space_alone = attributes_.num_spatial_dims == 2 && !attributes_.depthwise &&
                                   sizes.size() == 2 && filter.dims() == 4 && slopes.dims() == 4;
    if (!names_space_alone) return named;
    return tensorflow::ShapeFromFormat(
        attributes_.data_format, tensorflow::GetTensorDim(slopes, attributes_.data_format, 'N'),
        sizes, filter.dim_size(2));
  }

  tensorflow::ConvOpAttrs attributes_;
  std::unique_ptr<tensorflow::OpKernel> dynamic_;
};

}  // namespace

void RegisterConvInputGradients() {
  for (const char* const op :
       {"Conv2DBackpropInput", "Conv3DBackpropInputV2", "DepthwiseConv2dNativeBackpropInput"}) {
    RegisterTranslation<ConvInputGradient>(
        std::move(TranslationOf(op).CompileTimeConstantInput("input_sizes")));
  }
}

}  // namespace onexpu::tf_plugin
