// Ops whose translations in TensorFlow are right for real numbers only: gradients that take the
// conjugate of a result (TensorFlow's of a sigmoid and a tangent take none), and eigenvalues, which
// are real numbers and come as complex ones. The gradients of a reciprocal and of square roots also
// keep a zero where the derivative is infinite, which TensorFlow's translations turn into NaN.
#include "tensorflow/core/framework/types.h"
#include "tf_plugin/translations/dynamic_sizes/common_bounds.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/self_adjoint_eig.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::ScalarLike;
using ::xla::XlaOp;

// Gives the gradient of an operand for `y`, the conjugate of the op's result, and `dy`, that
// result's gradient.
using Gradient = XlaOp (*)(XlaOp y, XlaOp dy);

XlaOp OfReciprocal(XlaOp y, XlaOp dy) { return xla::Neg(dy * y * y); }
XlaOp OfRsqrt(XlaOp y, XlaOp dy) { return ScalarLike(y, -0.5) * (dy * y) * (y * y); }
XlaOp OfSqrt(XlaOp y, XlaOp dy) { return ScalarLike(y, 0.5) * dy / y; }

template <Gradient gradient>
class GradientKernel final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    XlaOp y = context->Input(0), dy = context->Input(1);
    OP_REQUIRES_OK(context, UseCommonBounds(y, dy));
    if (tensorflow::DataTypeIsComplex(context->input_type(0))) y = xla::Conj(y);
    // As in TensorFlow's CPU kernels, a gradient of zero stays zero where the derivative is
    // infinite or NaN: of a square root at 0, for example.
    const XlaOp zero = xla::ZerosLike(dy);
    context->SetOutput(0, xla::Select(xla::Eq(dy, zero), zero, gradient(y, dy)));
  }
};

class SelfAdjointEigKernel final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    const xla::SelfAdjointEigResult result =
        xla::SelfAdjointEig(context->Input(0), /*lower=*/true, /*max_iter=*/100, /*tol=*/1e-6);
    context->SetOutput(0, xla::ConvertElementType(result.w, context->output_xla_type(0)));
    context->SetOutput(1, result.v);
  }
};

}  // namespace

void RegisterComplexNumbers() {
  RegisterTranslation<GradientKernel<OfReciprocal>>(TranslationOf("InvGrad"));
  RegisterTranslation<GradientKernel<OfReciprocal>>(TranslationOf("ReciprocalGrad"));
  RegisterTranslation<GradientKernel<OfRsqrt>>(TranslationOf("RsqrtGrad"));
  RegisterTranslation<GradientKernel<OfSqrt>>(TranslationOf("SqrtGrad"));
  RegisterTranslation<SelfAdjointEigKernel>(TranslationOf("SelfAdjointEigV2"));
}

}  // namespace onexpu::tf_plugin
