// Special functions of two or three arguments at the edges of their domains and outside of them:
// what TensorFlow's kernels give there. Within, they are those of TensorFlow's translations.
#include <cmath>
#include <iterator>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/compiler/tf2xla/lib/broadcast.h"
#include "tf_plugin/translations/cpu_translation.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::XlaOpKernelContext;
using ::xla::ScalarLike;
using ::xla::XlaOp;

XlaOp Is(XlaOp x, double value) { return xla::Eq(x, ScalarLike(x, value)); }
XlaOp IsAbove(XlaOp x, double value) { return xla::Gt(x, ScalarLike(x, value)); }
XlaOp Where(XlaOp condition, double value, XlaOp otherwise) {
  return xla::Select(condition, xla::FullLike(otherwise, value), otherwise);
}

// The arguments are of the result's shape.
using Arguments = std::vector<XlaOp>;

// P(a, x). Zero is the first that TensorFlow's kernels look for.
XlaOp Igamma(const Arguments& of, XlaOp result) {
  const XlaOp a = of[0], x = of[1];
  return Where(xla::Or(Is(x, 0), xla::And(Is(a, HUGE_VAL), IsAbove(x, 0))), 0, result);
}

// Q(a, x).
XlaOp Igammac(const Arguments& of, XlaOp result) {
  const XlaOp a = of[0], x = of[1];
  const XlaOp is_defined = xla::And(IsAbove(a, 0), xla::Ge(x, ScalarLike(x, 0)));
  result = Where(xla::And(Is(a, HUGE_VAL), xla::Lt(x, ScalarLike(x, HUGE_VAL))), 1, result);
  return Where(xla::Not(is_defined), NAN, result);
}

// The derivatives of P(a, x) and of its inverse by a. Where x or a is infinite, P is constant.
XlaOp DerivativeByA(const Arguments& of, XlaOp result) {
  const XlaOp a = of[0], x = of[1];
  const XlaOp is_constant =
      xla::Or(xla::And(Is(a, HUGE_VAL), IsAbove(x, 0)), xla::And(Is(x, HUGE_VAL), IsAbove(a, 0)));
  return Where(xla::Or(Is(x, 0), is_constant), 0, result);
}

XlaOp Polygamma(const Arguments& of, XlaOp result) {
  const XlaOp order = of[0], x = of[1];
  const XlaOp is_limit = xla::And(
      Is(x, HUGE_VAL),
      xla::And(xla::Ge(order, ScalarLike(order, 1)), xla::Lt(order, ScalarLike(order, HUGE_VAL))));
  result = Where(is_limit, 0, result);
  return Where(xla::And(Is(order, HUGE_VAL), xla::Le(x, ScalarLike(x, 1))), HUGE_VAL, result);
}

// Hurwitz' zeta(x, q), the sum of (q + k)^-x.
XlaOp Zeta(const Arguments& of, XlaOp result) {
  const XlaOp x = of[0], q = of[1];
  // Each power underflows where the first one does.
  const XlaOp is_large = xla::And(IsAbove(x, 1), IsAbove(q, 1));
  result = Where(xla::And(is_large, xla::Or(Is(q, HUGE_VAL), xla::Ne(result, result))), 0, result);
  const XlaOp is_pole =
      xla::And(Is(x, HUGE_VAL), xla::And(xla::Le(q, ScalarLike(q, 0)), xla::Eq(q, xla::Floor(q))));
  result = Where(xla::Or(is_pole, Is(x, 1)), HUGE_VAL, result);
  return Where(xla::Lt(x, ScalarLike(x, 1)), NAN, result);
}

// I_x(a, b), from 0 at 0 to 1 at 1 for what is not known to be outside of the domain.
XlaOp Betainc(const Arguments& of, XlaOp result) {
  const XlaOp a = of[0], b = of[1], x = of[2];
  const XlaOp is_outside = xla::Or(xla::Le(a, ScalarLike(a, 0)), xla::Le(b, ScalarLike(b, 0)));
  result = Where(xla::And(Is(x, 0), xla::Not(is_outside)), 0, result);
  return Where(xla::And(Is(x, 1), xla::Not(is_outside)), 1, result);
}

struct Edges {
  const char* op;
  XlaOp (*correct)(const Arguments& of, XlaOp result);
};
constexpr Edges kEdges[] = {
    {"Betainc", Betainc}, {"Igamma", Igamma},       {"IgammaGradA", DerivativeByA},
    {"Igammac", Igammac}, {"Polygamma", Polygamma}, {"RandomGammaGrad", DerivativeByA},
    {"Zeta", Zeta},
};

class EdgesTranslation final : public CorrectedTranslation {
 public:
  explicit EdgesTranslation(OpKernelConstruction* construction)
      : CorrectedTranslation(construction) {
    for (const Edges& edges : kEdges) {
      if (type_string() == edges.op) correct_ = edges.correct;
    }
  }

 private:
  absl::StatusOr<XlaOp> Correct(XlaOpKernelContext* context, XlaOp result) const override {
    Arguments arguments;
    for (int i = 0; i < context->num_inputs(); ++i) {
      XlaOp argument = context->Input(i), same = result;
      TF_RETURN_IF_ERROR(tensorflow::BroadcastOpsToSame(&argument, &same));
      arguments.push_back(argument);
    }
    return correct_(arguments, result);
  }

  XlaOp (*correct_)(const Arguments& of, XlaOp result) = nullptr;
};

}  // namespace

void RegisterDomainEdges() {
  for (const Edges& edges : kEdges) RegisterTranslation<EdgesTranslation>(TranslationOf(edges.op));
}

}  // namespace onexpu::tf_plugin
