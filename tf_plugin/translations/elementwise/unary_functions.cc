// Ops that are one instruction of XLA, or a few. TensorFlow's translations of them write an MLIR
// module each, with a context of its own: that takes 4 ms for each such op of a program, and as
// much for an op that runs alone, even if its program is cached.
#include <cmath>

#include "absl/strings/string_view.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"

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

// Functions of the builder take arguments that say how accurate they are.
XlaOp Cosine(XlaOp x) { return xla::Cos(x); }
XlaOp Exponential(XlaOp x) { return xla::Exp(x); }
XlaOp ExponentialMinusOne(XlaOp x) { return xla::Expm1(x); }
XlaOp LogarithmOfOnePlus(XlaOp x) { return xla::Log1p(x); }
XlaOp Logistic(XlaOp x) { return xla::Logistic(x); }
XlaOp ReciprocalRoot(XlaOp x) { return xla::Rsqrt(x); }
XlaOp Root(XlaOp x) { return xla::Sqrt(x); }
XlaOp HyperbolicTangent(XlaOp x) { return xla::Tanh(x); }

XlaOp IsInfinite(XlaOp x) { return xla::Eq(xla::Abs(x), xla::FullLike(x, HUGE_VAL)); }
XlaOp IsNotANumber(XlaOp x) { return xla::Ne(x, x); }
XlaOp Reciprocal(XlaOp x) { return ScalarLike(x, 1) / x; }
XlaOp Relu(XlaOp x) { return xla::Max(ScalarLike(x, 0), x); }
XlaOp Relu6(XlaOp x) { return xla::Clamp(ScalarLike(x, 0), x, ScalarLike(x, 6)); }

}  // namespace

void RegisterUnaryFunctions() {
  Register<xla::Abs>("Abs");
  Register<xla::Ceil>("Ceil");
  Register<Cosine>("Cos");
  Register<Exponential>("Exp");
  Register<ExponentialMinusOne>("Expm1");
  Register<xla::Floor>("Floor");
  Register<xla::Imag>("Imag");
  Register<xla::IsFinite>("IsFinite");
  Register<IsInfinite>("IsInf");
  Register<IsNotANumber>("IsNan");
  Register<LogarithmOfOnePlus>("Log1p");
  Register<xla::Real>("Real");
  Register<Reciprocal>("Reciprocal");
  Register<Relu>("Relu");
  Register<Relu6>("Relu6");
  Register<ReciprocalRoot>("Rsqrt");
  Register<Logistic>("Sigmoid");
  Register<xla::Sign>("Sign");
  Register<Root>("Sqrt");
  Register<HyperbolicTangent>("Tanh");
}

}  // namespace onexpu::tf_plugin
