// Gradients of activations, and ClipByValue, as the ops' documentation and TensorFlow's CPU kernels
// define them for NaN, for zeros and for limits that cross. TensorFlow's translations give other
// values there.
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/types.h"
#include "tf_plugin/translations/dynamic_sizes/common_bounds.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::ScalarLike;
using ::xla::XlaOp;

// The gradient of the operand for `dy`, the gradient of the result, and for the operand or the
// result, whichever the op has as its second input.
using Gradient = XlaOp (*)(XlaOp dy, XlaOp x);

// A product with 0, not 0: an infinite or NaN `dy` gives NaN where the derivative is 0. XLA would
// turn a product with the converted condition into a selection of 0.
XlaOp Where(XlaOp is_linear, XlaOp dy) {
  return xla::Select(is_linear, dy, dy * xla::ZerosLike(dy));
}

XlaOp OfRelu(XlaOp dy, XlaOp x) { return Where(xla::Gt(x, xla::ZerosLike(x)), dy); }

XlaOp OfRelu6(XlaOp dy, XlaOp x) {
  return Where(xla::And(xla::Gt(x, xla::ZerosLike(x)), xla::Lt(x, ScalarLike(x, 6))), dy);
}

// The derivative of the positive branch is that of NaN and of zeros, too.
XlaOp OfElu(XlaOp dy, XlaOp y) {
  return xla::Select(xla::Lt(y, xla::ZerosLike(y)), (y + ScalarLike(y, 1)) * dy, dy);
}

constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;

XlaOp OfSelu(XlaOp dy, XlaOp y) {
  return xla::Select(xla::Lt(y, xla::ZerosLike(y)), dy * (y + ScalarLike(y, kSeluScaleAlpha)),
                     dy * ScalarLike(dy, kSeluScale));
}

template <Gradient gradient>
class ActivationGradient final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    XlaOp dy = context->Input(0), x = context->Input(1);
    OP_REQUIRES_OK(context, UseCommonBounds(dy, x));
    context->SetOutput(0, gradient(dy, x));
  }
};

class LeakyReluGradient final : public XlaOpKernel {
 public:
  explicit LeakyReluGradient(OpKernelConstruction* construction) : XlaOpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("alpha", &alpha_));
  }

  void Compile(XlaOpKernelContext* context) override {
    XlaOp dy = context->Input(0), x = context->Input(1);
    OP_REQUIRES_OK(context, UseCommonBounds(dy, x));
    context->SetOutput(0,
                       xla::Select(xla::Gt(x, xla::ZerosLike(x)), dy, dy * ScalarLike(dy, alpha_)));
  }

 private:
  float alpha_ = 0;
};

// As C++'s std::min and std::max: a limit that is NaN does not limit, and where the limits cross,
// the lower one is the result.
XlaOp Clip(XlaOp x, XlaOp low, XlaOp high) {
  const XlaOp below = xla::Select(xla::Lt(high, x), high, x);
  return xla::Select(xla::Lt(below, low), low, below);
}

// Inputs: an array, and two limits that are scalars or have the array's shape.
class ClipByValue final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    const TensorShape shape = context->InputShape(0);
    for (int i = 1; i < 3; ++i) {
      const TensorShape limit = context->InputShape(i);
      OP_REQUIRES(
          context, limit.dims() == 0 || limit == shape,
          absl::InvalidArgumentError(absl::StrCat(
              "clip_value_min and clip_value_max must be either of the same shape as "
              "input, or a scalar. input shape: ",
              shape.DebugString(), " clip_value_min shape: ", context->InputShape(1).DebugString(),
              " clip_value_max shape: ", context->InputShape(2).DebugString())));
    }
    const XlaOp x = context->Input(0), low = context->Input(1), high = context->Input(2);
    if (!tensorflow::DataTypeIsComplex(context->input_type(0))) {
      context->SetOutput(0, Clip(x, low, high));
      return;
    }
    // The limits are corners of a box.
    context->SetOutput(0, xla::Complex(Clip(xla::Real(x), xla::Real(low), xla::Real(high)),
                                       Clip(xla::Imag(x), xla::Imag(low), xla::Imag(high))));
  }
};

}  // namespace

void RegisterActivations() {
  RegisterTranslation<ActivationGradient<OfRelu>>(TranslationOf("ReluGrad"));
  RegisterTranslation<ActivationGradient<OfRelu6>>(TranslationOf("Relu6Grad"));
  RegisterTranslation<ActivationGradient<OfElu>>(TranslationOf("EluGrad"));
  RegisterTranslation<ActivationGradient<OfSelu>>(TranslationOf("SeluGrad"));
  RegisterTranslation<LeakyReluGradient>(TranslationOf("LeakyReluGrad"));
  RegisterTranslation<ClipByValue>(TranslationOf("ClipByValue"));
}

}  // namespace onexpu::tf_plugin
