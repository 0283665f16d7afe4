// Bessel functions, Dawson's and Fresnel's integrals, the exponential integral, the dilogarithm and
// the quantiles of the normal distribution (NIST Digital Library of Mathematical Functions,
// chapters 6, 7, 10 and 25).
//
// Each is put together of smooth parts, which are Chebyshev series, and of what is not smooth in
// it: logarithms, poles, oscillations. Errors are some units in the last place of the greatest
// term; the first zeros of J are exact.
#include <cmath>
#include <cstddef>

#include "absl/types/span.h"
#include "tf_plugin/translations/elementwise/special_function_tables.h"
#include "tf_plugin/translations/registration.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/math.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/xla_data.pb.h"

namespace onexpu::tf_plugin {
namespace {

using ::xla::ScalarLike;
using ::xla::XlaOp;

constexpr double kPi = 3.14159265358979323846;
constexpr double kEulersConstant = 0.57721566490153286061;

using Terms = absl::Span<const double>;

// The terms that a type's rounding leaves of a series.
Terms Significant(Terms series, xla::PrimitiveType type) {
  if (type == xla::F64) return series;
  constexpr double kNegligible = 0x1p-27;
  double greatest = 0;
  for (const double term : series) greatest = std::fmax(greatest, std::fabs(term));
  size_t count = series.size();
  while (count > 1 && std::fabs(series[count - 1]) < kNegligible * greatest) --count;
  return series.first(count);
}

// Clenshaw's recurrence (DLMF 3.11(ii)).
XlaOp Series(Terms series, XlaOp t) {
  return t.builder()->ReportErrorOrReturn([&]() -> absl::StatusOr<XlaOp> {
    TF_ASSIGN_OR_RETURN(const xla::Shape shape, t.builder()->GetShape(t));
    const Terms terms = Significant(series, shape.element_type());
    const XlaOp twice = t + t;
    XlaOp last = ScalarLike(t, 0), current = ScalarLike(t, 0);
    for (size_t k = terms.size(); k-- > 1;) {
      const XlaOp next = ScalarLike(t, terms[k]) + twice * current - last;
      last = current;
      current = next;
    }
    return ScalarLike(t, terms[0]) + t * current - last;
  });
}

// Bessel functions of order 0 and 1, of the first and second kind.
struct Order {
  int number;
  Terms j_near, y_near, p, q;
  const double (*zeros)[2];
};
constexpr Order kOrders[] = {{0, kJ0Near, kY0Near, kP0, kQ0, kJ0Zeros},
                             {1, kJ1Near, kY1Near, kP1, kQ1, kJ1Zeros}};

// J for 0 <= x <= 8.
XlaOp BesselJNear(const Order& order, XlaOp x) {
  XlaOp result = Series(order.j_near, x * x / ScalarLike(x, 32) - ScalarLike(x, 1));
  if (order.number == 1) result = result * x;
  for (int i = 0; i < 2; ++i) {
    const XlaOp high = ScalarLike(x, order.zeros[i][0]), low = ScalarLike(x, order.zeros[i][1]);
    // Multiplied out: XLA would add the two parts up.
    const XlaOp sum = x + (high + low);
    result = result * ((x - high) * sum - low * sum);
  }
  return result;
}

// J and Y for x > 8 (DLMF 10.17(i)). The phase goes into the sine and the cosine afterwards: x
// keeps all its digits.
struct Oscillations {
  XlaOp j, y;
};
Oscillations BesselFar(const Order& order, XlaOp x) {
  const XlaOp u = ScalarLike(x, 8) / x;
  const XlaOp t = ScalarLike(x, 2) * u * u - ScalarLike(x, 1);
  const XlaOp p = Series(order.p, t), q = Series(order.q, t) / x;
  // Of the angle x - pi / 4 or x - 3 pi / 4, times the root of two.
  const XlaOp sine = order.number == 0 ? xla::Sin(x) - xla::Cos(x) : -xla::Sin(x) - xla::Cos(x);
  const XlaOp cosine = order.number == 0 ? xla::Sin(x) + xla::Cos(x) : xla::Sin(x) - xla::Cos(x);
  const XlaOp amplitude = xla::Rsqrt(x) * ScalarLike(x, 1 / std::sqrt(kPi));
  return {amplitude * (p * cosine - q * sine), amplitude * (p * sine + q * cosine)};
}

XlaOp BesselJ(const Order& order, XlaOp x) {
  const XlaOp distance = xla::Abs(x);
  const XlaOp result = xla::Select(xla::Le(distance, ScalarLike(x, 8)),
                                   BesselJNear(order, distance), BesselFar(order, distance).j);
  return order.number == 0 ? result : result * xla::Sign(x);
}

XlaOp BesselY(const Order& order, XlaOp x) {
  const XlaOp smooth = Series(order.y_near, x * x / ScalarLike(x, 32) - ScalarLike(x, 1));
  const XlaOp logarithm = xla::Log(x) * BesselJNear(order, x);
  const XlaOp factor = ScalarLike(x, 2 / kPi);
  const XlaOp near = order.number == 0 ? smooth + factor * logarithm
                                       : x * smooth + factor * (logarithm - xla::Reciprocal(x));
  const XlaOp result = xla::Select(xla::Gt(x, ScalarLike(x, 8)), BesselFar(order, x).y, near);
  // Below zero as at zero, as TensorFlow has it.
  return xla::Select(xla::Le(x, ScalarLike(x, 0)), xla::FullLike(x, -HUGE_VAL), result);
}

XlaOp BesselJ0(XlaOp x) { return BesselJ(kOrders[0], x); }
XlaOp BesselJ1(XlaOp x) { return BesselJ(kOrders[1], x); }
XlaOp BesselY0(XlaOp x) { return BesselY(kOrders[0], x); }
XlaOp BesselY1(XlaOp x) { return BesselY(kOrders[1], x); }

// Modified ones. XLA has those of the first kind times e^-|x|.
XlaOp BesselI0(XlaOp x) { return xla::Exp(xla::Abs(x)) * xla::BesselI0e(x); }
XlaOp BesselI1(XlaOp x) { return xla::Exp(xla::Abs(x)) * xla::BesselI1e(x); }

// K, or e^x K when `is_scaled` (DLMF 10.31, 10.40).
XlaOp BesselK(int order, bool is_scaled, XlaOp x) {
  const XlaOp smooth =
      Series(order == 0 ? Terms(kK0Near) : kK1Near, x * x / ScalarLike(x, 2) - ScalarLike(x, 1));
  const XlaOp logarithm = xla::Log(x * ScalarLike(x, 0.5));
  XlaOp near = order == 0 ? smooth - logarithm * BesselI0(x)
                          : x * smooth + xla::Reciprocal(x) + logarithm * BesselI1(x);
  XlaOp far = Series(order == 0 ? Terms(kK0Far) : kK1Far, ScalarLike(x, 4) / x - ScalarLike(x, 1)) *
              xla::Rsqrt(x);
  if (is_scaled) {
    near = near * xla::Exp(x);
  } else {
    far = far * xla::Exp(-x);
  }
  const XlaOp result = xla::Select(xla::Gt(x, ScalarLike(x, 2)), far, near);
  return xla::Select(xla::Le(x, ScalarLike(x, 0)), xla::FullLike(x, HUGE_VAL), result);
}

XlaOp BesselK0(XlaOp x) { return BesselK(0, /*is_scaled=*/false, x); }
XlaOp BesselK0e(XlaOp x) { return BesselK(0, /*is_scaled=*/true, x); }
XlaOp BesselK1(XlaOp x) { return BesselK(1, /*is_scaled=*/false, x); }
XlaOp BesselK1e(XlaOp x) { return BesselK(1, /*is_scaled=*/true, x); }

XlaOp Dawson(XlaOp x) {
  const XlaOp near = x * Series(kDawsonNear, x * x / ScalarLike(x, 8) - ScalarLike(x, 1));
  const XlaOp u = ScalarLike(x, 4) / x;
  const XlaOp far =
      ScalarLike(x, 0.5) / x * Series(kDawsonFar, ScalarLike(x, 2) * u * u - ScalarLike(x, 1));
  return xla::Select(xla::Gt(xla::Abs(x), ScalarLike(x, 4)), far, near);
}

// Ei for x >= 0; the op is not defined below. Half of the exponential before and half behind the
// quotient: the whole may be beyond what a result still can be.
XlaOp ExponentialIntegral(XlaOp x) {
  const XlaOp near = ScalarLike(x, kEulersConstant) + xla::Log(x) +
                     x * Series(kEiNear, x / ScalarLike(x, 3) - ScalarLike(x, 1));
  const XlaOp root = xla::Exp(x * ScalarLike(x, 0.5));
  const XlaOp far = root * (Series(kEiFar, ScalarLike(x, 12) / x - ScalarLike(x, 1)) / x) * root;
  const XlaOp result = xla::Select(xla::Gt(x, ScalarLike(x, 6)), far, near);
  return xla::Select(xla::Eq(x, ScalarLike(x, HUGE_VAL)), x, result);
}

// Li2(1 - x), by its symmetries from around 1 (DLMF 25.12(i)).
XlaOp Spence(XlaOp x) {
  const XlaOp one = ScalarLike(x, 1);
  const XlaOp is_inverted = xla::Gt(x, ScalarLike(x, 1.5));
  const XlaOp y = xla::Select(is_inverted, xla::Reciprocal(x), x);
  const XlaOp is_reflected = xla::Lt(y, ScalarLike(x, 0.5));
  const XlaOp w = xla::Select(is_reflected, one - y, y);
  XlaOp result = (one - w) * Series(kSpence, ScalarLike(x, 2) * (w - one));
  const XlaOp at_zero = ScalarLike(x, kPi * kPi / 6);
  const XlaOp reflected = at_zero - xla::Log(y) * xla::Log1p(-y) - result;
  result = xla::Select(is_reflected, reflected, result);
  result = xla::Select(xla::Eq(x, ScalarLike(x, 0)), xla::ZerosLike(x) + at_zero, result);
  const XlaOp logarithm = xla::Log(x);
  return xla::Select(is_inverted, ScalarLike(x, -0.5) * logarithm * logarithm - result, result);
}

// C or S, of pi t^2 / 2 (DLMF 7.2(iii), 7.5).
XlaOp Fresnel(bool is_sine, XlaOp x) {
  constexpr double kMiddle = 1.6;
  constexpr double kLimitReached = 1e8;  // the rest is below the rounding of a half
  const XlaOp distance = xla::Abs(x);
  const XlaOp one = ScalarLike(x, 1), two = ScalarLike(x, 2), half = ScalarLike(x, 0.5);
  const XlaOp square = distance * distance;
  XlaOp u = square * ScalarLike(x, 1 / (kMiddle * kMiddle));
  const XlaOp near = is_sine ? distance * square * Series(kFresnelSineNear, two * u * u - one)
                             : distance * Series(kFresnelCosineNear, two * u * u - one);
  u = ScalarLike(x, kMiddle * kMiddle) / square;
  const XlaOp over_pi = ScalarLike(x, 1 / kPi) / distance;
  const XlaOp f = over_pi * Series(kFresnelF, two * u * u - one);
  const XlaOp g =
      over_pi * (ScalarLike(x, 1 / kPi) / square) * Series(kFresnelG, two * u * u - one);
  // A whole turn is a square of four.
  const XlaOp turn = square - ScalarLike(x, 4) * xla::Floor(square * ScalarLike(x, 0.25));
  const XlaOp sine = xla::Sin(turn * ScalarLike(x, kPi / 2));
  const XlaOp cosine = xla::Cos(turn * ScalarLike(x, kPi / 2));
  XlaOp far = is_sine ? half - f * cosine - g * sine : half + f * sine - g * cosine;
  far = xla::Select(xla::Gt(distance, ScalarLike(x, kLimitReached)), xla::FullLike(x, 0.5), far);
  const XlaOp result = xla::Select(xla::Gt(distance, ScalarLike(x, kMiddle)), far, near);
  return result * xla::Sign(x);
}

XlaOp FresnelCosine(XlaOp x) { return Fresnel(/*is_sine=*/false, x); }
XlaOp FresnelSine(XlaOp x) { return Fresnel(/*is_sine=*/true, x); }

// The quantile function of the normal distribution. TensorFlow's translation is the inverse error
// function of 2p - 1, which has lost the digits of a small p.
XlaOp NormalQuantile(XlaOp p) {
  const XlaOp one = ScalarLike(p, 1), half = ScalarLike(p, 0.5);
  // By symmetry, as a distance from 0. The complement of a p above 1/2 is exact.
  const XlaOp tail = xla::Min(p, one - p);
  // Beyond a tenth the inverse error function has all digits.
  const XlaOp near =
      ScalarLike(p, -std::sqrt(2.0)) * xla::ErfInv(xla::Max(tail + tail, ScalarLike(p, 0.2)) - one);
  // Below, a rational estimate with an error of 3e-3 (Abramowitz and Stegun 26.2.22), and two of
  // Halley's steps, each of which cubes the error.
  const XlaOp log_tail = xla::Log(tail);
  const XlaOp t = xla::Sqrt(ScalarLike(p, -2) * log_tail);
  XlaOp far = t - (ScalarLike(p, 2.30753) + ScalarLike(p, 0.27061) * t) /
                      (one + t * (ScalarLike(p, 0.99229) + ScalarLike(p, 0.04481) * t));
  for (int i = 0; i < 2; ++i) {
    const XlaOp excess = half * xla::Erfc(far * ScalarLike(p, std::sqrt(0.5))) / tail - one;
    // The tail over the density: both may be tiny, so their logarithms are subtracted.
    const XlaOp ratio =
        xla::Exp(log_tail + half * far * far + ScalarLike(p, 0.5 * std::log(2 * kPi)));
    const XlaOp step = excess * ratio;
    far = far + step / (one - half * far * step);
  }
  const XlaOp distance = xla::Select(xla::Lt(tail, ScalarLike(p, 0.1)), far, near);
  XlaOp result = xla::Select(xla::Lt(p, half), -distance, distance);
  const XlaOp infinity = xla::FullLike(p, INFINITY);
  result = xla::Select(xla::Eq(tail, ScalarLike(p, 0)),
                       xla::Select(xla::Lt(p, half), -infinity, infinity), result);
  // Outside of 0 to 1, and of NaN.
  return xla::Select(xla::Ge(tail, ScalarLike(p, 0)), result, xla::FullLike(p, NAN));
}

// Half precision computes in single.
template <XlaOp (*function)(XlaOp)>
class SpecialFunction final : public tensorflow::XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(tensorflow::XlaOpKernelContext* context) override {
    const xla::PrimitiveType type = context->input_xla_type(0);
    const XlaOp x = context->Input(0);
    if (xla::primitive_util::BitWidth(type) >= 32) {
      context->SetOutput(0, function(x));
    } else {
      context->SetOutput(
          0, xla::ConvertElementType(function(xla::ConvertElementType(x, xla::F32)), type));
    }
  }
};

template <XlaOp (*function)(XlaOp)>
void Register(absl::string_view op) {
  RegisterTranslation<SpecialFunction<function>>(TranslationOf(op));
}

}  // namespace

void RegisterSpecialFunctions() {
  Register<BesselI0>("BesselI0");
  Register<BesselI1>("BesselI1");
  Register<BesselJ0>("BesselJ0");
  Register<BesselJ1>("BesselJ1");
  Register<BesselK0>("BesselK0");
  Register<BesselK0e>("BesselK0e");
  Register<BesselK1>("BesselK1");
  Register<BesselK1e>("BesselK1e");
  Register<BesselY0>("BesselY0");
  Register<BesselY1>("BesselY1");
  Register<Dawson>("Dawsn");
  Register<ExponentialIntegral>("Expint");
  Register<FresnelCosine>("FresnelCos");
  Register<FresnelSine>("FresnelSin");
  Register<NormalQuantile>("Ndtri");
  Register<Spence>("Spence");
}

}  // namespace onexpu::tf_plugin
