// ResourceApplyAdamWithAmsgrad: Adam whose step is bounded by the greatest second moment so far
// (Reddi et al., On the convergence of Adam and beyond, 2018).
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// Inputs: the variables var, m, v and vhat; the scalars beta1_power, beta2_power, lr, beta1, beta2
// and epsilon; the gradient.
class AdamWithAmsgrad final : public Translation {
 public:
  explicit AdamWithAmsgrad(OpKernelConstruction* construction) : Translation(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("T", &type_));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const TensorShape gradient_shape = context->InputShape(10);
    std::vector<XlaOp> state(4);
    for (int i = 0; i < 4; ++i) {
      TensorShape shape;
      TF_RETURN_IF_ERROR(context->ReadVariableInput(i, type_, &shape, &state[i]));
      if (shape != gradient_shape) {
        return absl::InvalidArgumentError(absl::StrCat("variable ", i, " has shape ",
                                                       shape.DebugString(), ", the gradient ",
                                                       gradient_shape.DebugString()));
      }
    }
    for (int i = 4; i < 10; ++i) {
      if (context->InputShape(i).dims() == 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", i, " is not a scalar, but has shape ", context->InputShape(i).DebugString()));
    }
    const XlaOp beta1 = context->Input(7), beta2 = context->Input(8), gradient = context->Input(10);
    const XlaOp one = xla::ScalarLike(beta1, 1);
    const XlaOp step =
        context->Input(6) * xla::Sqrt(one - context->Input(5)) / (one - context->Input(4));
    const XlaOp m = state[1] + (gradient - state[1]) * (one - beta1);
    const XlaOp v = state[2] + (gradient * gradient - state[2]) * (one - beta2);
    const XlaOp greatest = xla::Max(state[3], v);
    const XlaOp variable = state[0] - m * step / (xla::Sqrt(greatest) + context->Input(9));
    TF_RETURN_IF_ERROR(context->AssignVariable(0, type_, variable));
    TF_RETURN_IF_ERROR(context->AssignVariable(1, type_, m));
    TF_RETURN_IF_ERROR(context->AssignVariable(2, type_, v));
    return context->AssignVariable(3, type_, greatest);
  }

  DataType type_;
};

}  // namespace

void RegisterAmsgrad() {
  constexpr DataType kFloating[] = {tensorflow::DT_HALF, tensorflow::DT_BFLOAT16,
                                    tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE};
  tensorflow::XlaOpRegistrationBuilder translation = TranslationOf("ResourceApplyAdamWithAmsgrad");
  translation.TypeConstraint("T", kFloating);
  RegisterTranslation<AdamWithAmsgrad>(std::move(translation));
}

}  // namespace onexpu::tf_plugin
