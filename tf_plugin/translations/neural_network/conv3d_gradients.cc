// Conv3DBackpropInput and Conv3DBackpropFilter of TensorFlow's first versions: what has the shape
// of the result is an operand, of which nothing but the shape is read.
#include <string>

#include "tensorflow/compiler/tf2xla/kernels/conv_op_helpers.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::XlaOpKernelContext;

// Inputs: the images, the filter, the slopes of the result.
class Conv3DGradient final : public Translation {
 public:
  explicit Conv3DGradient(OpKernelConstruction* construction)
      : Translation(construction), is_of_filter_(type_string() == "Conv3DBackpropFilter") {
    attributes_.depthwise = false;
    attributes_.num_spatial_dims = 3;
    attributes_.data_format = tensorflow::FORMAT_NHWC;  // channels last, of any rank
    OP_REQUIRES_OK(construction, construction->GetAttr("dilations", &attributes_.dilations));
    OP_REQUIRES_OK(construction, construction->GetAttr("strides", &attributes_.strides));
    OP_REQUIRES_OK(construction, construction->GetAttr("padding", &attributes_.padding));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const xla::Shape shape, context->InputXlaShape(is_of_filter_ ? 1 : 0));
    TF_ASSIGN_OR_RETURN(
        const xla::XlaOp gradient,
        is_of_filter_
            ? tensorflow::MakeXlaBackpropFilterConvOp(type_string(), context->Input(0), shape,
                                                      context->Input(2), attributes_)
            : tensorflow::MakeXlaBackpropInputConvOp(type_string(), shape, context->Input(1),
                                                     context->Input(2), attributes_));
    context->SetOutput(0, gradient);
    return absl::OkStatus();
  }

  const bool is_of_filter_;
  tensorflow::ConvOpAttrs attributes_;
};

}  // namespace

void RegisterConv3DGradients() {
  for (const char* const op : {"Conv3DBackpropInput", "Conv3DBackpropFilter"})
    RegisterTranslation<Conv3DGradient>(TranslationOf(op));
}

}  // namespace onexpu::tf_plugin
