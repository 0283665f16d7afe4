// Gradients of MaxPoolGrad: of a gradient that has the shape of the images, what is under each
// window where the image is greatest.
//
// TensorFlow's translation compares the upper halves of numbers of 32 bits, and so takes a
// neighbour of nearly the same size for the greatest.
#include <cstdint>
#include <utility>
#include <vector>

#include "tensorflow/core/util/padding.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/padding.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape_util.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// Of two pairs of a number and its gradient, the one with the greater number; the first of equals.
xla::XlaComputation Greater(xla::PrimitiveType type) {
  xla::XlaBuilder builder("greater");
  const xla::Shape scalar = xla::ShapeUtil::MakeShape(type, {});
  const XlaOp value = xla::Parameter(&builder, 0, scalar, "value");
  const XlaOp gradient = xla::Parameter(&builder, 1, scalar, "gradient");
  const XlaOp next = xla::Parameter(&builder, 2, scalar, "next");
  const XlaOp next_gradient = xla::Parameter(&builder, 3, scalar, "next_gradient");
  const XlaOp stays = xla::Ge(value, next);
  xla::Tuple(&builder,
             {xla::Select(stays, value, next), xla::Select(stays, gradient, next_gradient)});
  return *builder.Build();
}

// Inputs: images, what was pooled of them, a gradient; in the second version also the window.
class MaxPoolGradGradKernel final : public Translation {
 public:
  explicit MaxPoolGradGradKernel(OpKernelConstruction* construction)
      : Translation(construction), window_is_given_(construction->num_inputs() == 5) {
    OP_REQUIRES_OK(construction, construction->GetAttr("padding", &padding_));
    if (window_is_given_) return;
    std::vector<int32_t> size, strides;
    OP_REQUIRES_OK(construction, construction->GetAttr("ksize", &size));
    OP_REQUIRES_OK(construction, construction->GetAttr("strides", &strides));
    size_.assign(size.begin(), size.end());
    strides_.assign(strides.begin(), strides.end());
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    std::vector<int64_t> size = size_, strides = strides_;
    if (window_is_given_) {
      TF_RETURN_IF_ERROR(context->ConstantInputAsIntVector(3, &size));
      TF_RETURN_IF_ERROR(context->ConstantInputAsIntVector(4, &strides));
    }
    TF_ASSIGN_OR_RETURN(const xla::Shape images, context->InputXlaShape(0));
    TF_ASSIGN_OR_RETURN(const xla::Shape gradient, context->InputXlaShape(2));
    const size_t rank = images.dimensions().size();
    if (size.size() != rank || strides.size() != rank || gradient != images) {
      return absl::InvalidArgumentError(
          "images, their gradient, ksize and strides do not fit together");
    }
    for (size_t i = 0; i < rank; ++i) {
      if (size[i] > 0 && strides[i] > 0) continue;
      return absl::InvalidArgumentError("ksize and strides must be positive");
    }
    const xla::PrimitiveType type = images.element_type();
    xla::XlaBuilder* const builder = context->builder();
    const auto padding =
        xla::MakePadding(images.dimensions(), size, strides,
                         padding_ == tensorflow::SAME ? xla::Padding::kSame : xla::Padding::kValid);
    const XlaOp pairs = xla::ReduceWindowWithGeneralPadding(
        {context->Input(0), context->Input(2)},
        {xla::MinValue(builder, type), xla::Zero(builder, type)}, Greater(type), size, strides,
        /*base_dilations=*/{}, /*window_dilations=*/{}, padding);
    context->SetOutput(0, xla::GetTupleElement(pairs, 1));
    return absl::OkStatus();
  }

  const bool window_is_given_;
  std::vector<int64_t> size_, strides_;
  tensorflow::Padding padding_;
};

}  // namespace

void RegisterSecondPoolingGradients() {
  RegisterTranslation<MaxPoolGradGradKernel>(TranslationOf("MaxPoolGradGrad"));
  RegisterTranslation<MaxPoolGradGradKernel>(std::move(TranslationOf("MaxPoolGradGradV2")
                                                           .CompileTimeConstantInput("ksize")
                                                           .CompileTimeConstantInput("strides")));
  RegisterTranslation<MaxPoolGradGradKernel>(TranslationOf("MaxPool3DGradGrad"));
}

}  // namespace onexpu::tf_plugin
