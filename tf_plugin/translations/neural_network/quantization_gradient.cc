// QuantizeAndDequantizeV4Grad: slopes pass where the input is within the range, straight through
// the rounding. Those of the range's ends are zero, as TensorFlow has them.
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// Inputs: slopes, x, and its least and greatest value: scalars, or vectors along `axis`.
class QuantizationGradient final : public Translation {
 public:
  explicit QuantizationGradient(OpKernelConstruction* construction) : Translation(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("axis", &axis_));
  }

 private:
  absl::Status CheckShapes(XlaOpKernelContext* context) const {
    const TensorShape shape = context->InputShape(1);
    if (context->InputShape(0) != shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("gradient and input must be the same size, got ",
                       context->InputShape(0).DebugString(), " and ", shape.DebugString()));
    }
    if (axis_ < -1 || axis_ >= shape.dims()) {
      return absl::InvalidArgumentError(absl::StrCat("Axis should be in [-1, ", shape.dims(),
                                                     "), but given axis value was ", axis_));
    }
    const TensorShape expected =
        axis_ == -1 ? TensorShape({}) : TensorShape({shape.dim_size(axis_)});
    for (const int input : {2, 3}) {
      if (context->InputShape(input) != expected) {
        return absl::InvalidArgumentError(absl::StrCat(
            input == 2 ? "input_min" : "input_max", " must have shape ", expected.DebugString(),
            ", got ", context->InputShape(input).DebugString()));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Translate(XlaOpKernelContext* context) const override {
    TF_RETURN_IF_ERROR(CheckShapes(context));
    const auto sizes = context->InputShape(1).dim_sizes();
    std::vector<int64_t> dimensions;
    if (axis_ != -1) dimensions.push_back(axis_);
    const XlaOp slopes = context->Input(0), x = context->Input(1);
    const XlaOp least = xla::BroadcastInDim(context->Input(2), sizes, dimensions);
    const XlaOp greatest = xla::BroadcastInDim(context->Input(3), sizes, dimensions);
    const XlaOp is_inside = xla::And(xla::Ge(x, least), xla::Le(x, greatest));
    // A product, because TensorFlow's CPU kernel keeps gradients that are NaN or infinite.
    context->SetOutput(0, xla::Select(is_inside, slopes, slopes * xla::ScalarLike(slopes, 0)));
    context->SetOutput(1, xla::ZerosLike(context->Input(2)));
    context->SetOutput(2, xla::ZerosLike(context->Input(3)));
    return absl::OkStatus();
  }

  int axis_ = -1;
};

}  // namespace

void RegisterQuantizationGradient() {
  RegisterTranslation<QuantizationGradient>(TranslationOf("QuantizeAndDequantizeV4Grad"));
}

}  // namespace onexpu::tf_plugin
