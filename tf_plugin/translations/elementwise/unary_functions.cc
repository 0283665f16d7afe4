// Ops that are one instruction of XLA, or a few. TensorFlow's translations of them write an MLIR
// module each, with a context of its own: that takes 4 ms for each such op of a program, and as
// much for an op that runs alone, even if its program is cached.
#include <cmath>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/math.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::xla::ScalarLike;
using ::xla::XlaOp;

template <XlaOp (*function)(XlaOp)>
class UnaryFunction final : public tensorflow::XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(tensorflow::XlaOpKernelContext* context) override {
    context->SetOutput(0, function(context->Input(0)));
  }
};

template <XlaOp (*function)(XlaOp)>
void Register(absl::string_view op) {
  RegisterTranslation<UnaryFunction<function>>(TranslationOf(op));
}

// Functions of the builder take arguments that say how accurate they are, and some expand into
// others, which the compiler has for itself.
XlaOp ArcCosine(XlaOp x) { return xla::Acos(x, std::nullopt, /*expand=*/false); }
XlaOp ArcSine(XlaOp x) { return xla::Asin(x, std::nullopt, /*expand=*/false); }
XlaOp Cosine(XlaOp x) { return xla::Cos(x); }
XlaOp Exponential(XlaOp x) { return xla::Exp(x); }
XlaOp ExponentialMinusOne(XlaOp x) { return xla::Expm1(x); }
XlaOp LogarithmOfOnePlus(XlaOp x) { return xla::Log1p(x); }
XlaOp Logistic(XlaOp x) { return xla::Logistic(x); }
XlaOp ReciprocalRoot(XlaOp x) { return xla::Rsqrt(x); }
XlaOp Root(XlaOp x) { return xla::Sqrt(x); }
XlaOp HyperbolicCosine(XlaOp x) { return xla::Cosh(x, std::nullopt, /*expand=*/false); }
XlaOp HyperbolicSine(XlaOp x) { return xla::Sinh(x, std::nullopt, /*expand=*/false); }
XlaOp HyperbolicTangent(XlaOp x) { return xla::Tanh(x); }
XlaOp InverseHyperbolicCosine(XlaOp x) { return xla::Acosh(x, std::nullopt, /*expand=*/false); }
XlaOp InverseHyperbolicSine(XlaOp x) { return xla::Asinh(x, std::nullopt, /*expand=*/false); }
XlaOp InverseHyperbolicTangent(XlaOp x) { return xla::Atanh(x, std::nullopt, /*expand=*/false); }

// The builder has this function of real numbers only: of complex ones, it is -i artanh(ix).
XlaOp ArcTangent(XlaOp x) {
  return x.builder()->ReportErrorOrReturn([&]() -> absl::StatusOr<XlaOp> {
    TF_ASSIGN_OR_RETURN(const xla::Shape shape, x.builder()->GetShape(x));
    if (!xla::primitive_util::IsComplexType(shape.element_type())) return xla::Atan(x);
    const XlaOp turned = InverseHyperbolicTangent(xla::Complex(-xla::Imag(x), xla::Real(x)));
    return xla::Complex(xla::Imag(turned), -xla::Real(turned));
  });
}

XlaOp Identity(XlaOp x) { return x; }
XlaOp IsInfinite(XlaOp x) { return xla::Eq(xla::Abs(x), xla::FullLike(x, HUGE_VAL)); }
XlaOp IsNotANumber(XlaOp x) { return xla::Ne(x, x); }
XlaOp Reciprocal(XlaOp x) { return ScalarLike(x, 1) / x; }
XlaOp Relu(XlaOp x) { return xla::Max(ScalarLike(x, 0), x); }
XlaOp Relu6(XlaOp x) { return xla::Clamp(ScalarLike(x, 0), x, ScalarLike(x, 6)); }

}  // namespace

void RegisterUnaryFunctions() {
  Register<xla::Abs>("Abs");
  Register<ArcCosine>("Acos");
  Register<InverseHyperbolicCosine>("Acosh");
  Register<ArcSine>("Asin");
  Register<InverseHyperbolicSine>("Asinh");
  Register<ArcTangent>("Atan");
  Register<InverseHyperbolicTangent>("Atanh");
  Register<xla::Ceil>("Ceil");
  // As in TensorFlow's programs, in which a check cannot fail.
  Register<Identity>("CheckNumerics");
  Register<Cosine>("Cos");
  Register<HyperbolicCosine>("Cosh");
  Register<Exponential>("Exp");
  Register<ExponentialMinusOne>("Expm1");
  Register<xla::Floor>("Floor");
  Register<xla::Imag>("Imag");
  Register<xla::IsFinite>("IsFinite");
  Register<IsInfinite>("IsInf");
  Register<IsNotANumber>("IsNan");
  Register<xla::Lgamma>("Lgamma");
  Register<LogarithmOfOnePlus>("Log1p");
  Register<Identity>("PreventGradient");
  Register<xla::Real>("Real");
  Register<Reciprocal>("Reciprocal");
  Register<Relu>("Relu");
  Register<Relu6>("Relu6");
  Register<ReciprocalRoot>("Rsqrt");
  Register<Logistic>("Sigmoid");
  Register<xla::Sign>("Sign");
  Register<HyperbolicSine>("Sinh");
  Register<Root>("Sqrt");
  Register<HyperbolicTangent>("Tanh");
}

}  // namespace onexpu::tf_plugin
