// Inverse functions, after Kahan ("Branch cuts for complex elementary functions"), and the dispatch
// by name.
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/compiler/codegen/math/complex_math.h"
#include "pjrt_core/compiler/codegen/math/math_emitter.h"

namespace onexpu::compiler {
namespace {

// Im(conj(x) * y)
Real CrossProduct(const Complex& x, const Complex& y) { return x.re * y.im - x.im * y.re; }
// Re(conj(x) * y)
Real DotProduct(const Complex& x, const Complex& y) { return x.re * y.re + x.im * y.im; }

Complex OneMinus(const Complex& z) { return {1.0 - z.re, -z.im}; }
Complex OnePlus(const Complex& z) { return {1.0 + z.re, z.im}; }

// So far out that 1 is nothing beside z, and products of roots might overflow. NaN is not far.
llvm::Value* IsFar(const Complex& z) {
  return Greater(Builtin("fmax", {Abs(z.re), Abs(z.im)}), z.re.Constant(1e9, 1e18));
}

// log |2z|, the length of every inverse function there.
Real FarLength(const Complex& z) { return LogOfLength(z.re, z.im) + 0.6931471805599453; }

}  // namespace

Complex ComplexAsin(const Complex& z) {
  const Complex minus = ComplexSqrt(OneMinus(z));
  const Complex plus = ComplexSqrt(OnePlus(z));
  const Complex near = {Builtin("atan2", {z.re, minus.re * plus.re - minus.im * plus.im}),
                        Builtin("asinh", CrossProduct(minus, plus))};
  return Select(IsFar(z), {Builtin("atan2", {z.re, Abs(z.im)}), CopySign(FarLength(z), z.im)},
                near);
}

Complex ComplexAcos(const Complex& z) {
  const Complex minus = ComplexSqrt(OneMinus(z));
  const Complex plus = ComplexSqrt(OnePlus(z));
  const Complex near = {2.0 * Builtin("atan2", {minus.re, plus.re}),
                        Builtin("asinh", CrossProduct(plus, minus))};
  return Select(IsFar(z), {Builtin("atan2", {Abs(z.im), z.re}), -CopySign(FarLength(z), z.im)},
                near);
}

Complex ComplexAcosh(const Complex& z) {
  const Complex minus = ComplexSqrt({z.re - 1.0, z.im});
  const Complex plus = ComplexSqrt(OnePlus(z));
  const Complex near = {Builtin("asinh", DotProduct(minus, plus)),
                        2.0 * Builtin("atan2", {minus.im, plus.re})};
  return Select(IsFar(z), {FarLength(z), Builtin("atan2", {z.im, z.re})}, near);
}

Complex ComplexAtanh(const Complex& z) {
  const Real x = z.re;
  const Real y = z.im;
  // Far from the poles the squares would overflow; there atanh z = 1/z + i pi/2 to all digits.
  const Real greater = Builtin("fmax", {Abs(x), Abs(y)});
  llvm::Value* far = IsFar(z);
  const Real u = x / greater;
  const Real v = y / greater;
  const Real far_re =
      Select(IsInfinite(greater), CopySign(x.Constant(0), x), u / (u * u + v * v) / greater);
  const Real quarter = CopySign(x.Constant(1.5707963267948966), y);
  const Real minus = 1.0 - x;
  const Real near_re = 0.25 * Builtin("log1p", 4.0 * x / (minus * minus + y * y));
  // Left of the origin by symmetry: the argument of log1p would come near -1.
  const Real plus = 1.0 + x;
  const Real mirrored = -0.25 * Builtin("log1p", -4.0 * x / (plus * plus + y * y));
  const Real near_im = 0.5 * Builtin("atan2", {2.0 * y, minus * plus - y * y});
  return {Select(far, far_re, Select(Less(x, 0), mirrored, near_re)),
          Select(far, quarter, near_im)};
}

Complex ComplexAtan2(const Complex& y, const Complex& x) {
  // -i log((x + iy) / sqrt(x^2 + y^2))
  const Complex direction = (x + TimesI(y)) * ComplexRsqrt(x * x + y * y);
  return TimesMinusI(ComplexLog(direction));
}

absl::StatusOr<ComplexValue> EmitComplexMath(MathFunction function,
                                             absl::Span<const ComplexValue> operands,
                                             llvm::IRBuilderBase& builder) {
  const auto operand = [&](size_t i) {
    return Complex{Real(operands[i].re, builder), Real(operands[i].im, builder)};
  };
  const size_t expected =
      function == MathFunction::kAtan2 || function == MathFunction::kPow ? 2 : 1;
  if (operands.size() != expected)
    return absl::InternalError("onexpu: a complex function with the wrong operands");
  const auto done = [](const Complex& z) { return ComplexValue{z.re.value(), z.im.value()}; };
  const Complex z = operand(0);
  switch (function) {
    case MathFunction::kExp:
      return done(ComplexExp(z));
    case MathFunction::kExpm1:
      return done(ComplexExpm1(z));
    case MathFunction::kLog:
      return done(ComplexLog(z));
    case MathFunction::kLog1p:
      return done(ComplexLog1p(z));
    case MathFunction::kSqrt:
      return done(ComplexSqrt(z));
    case MathFunction::kRsqrt:
      return done(ComplexRsqrt(z));
    case MathFunction::kCbrt:
      return done(ComplexPow(z, {z.re.Constant(1.0 / 3.0), z.re.Constant(0)}));
    case MathFunction::kSinh:
      return done(ComplexSinh(z));
    case MathFunction::kCosh:
      return done(ComplexCosh(z));
    case MathFunction::kTanh:
      return done(ComplexTanh(z));
    // The circular functions are the hyperbolic ones, turned by a right angle.
    case MathFunction::kSin:
      return done(TimesMinusI(ComplexSinh(TimesI(z))));
    case MathFunction::kCos:
      return done(ComplexCosh(TimesI(z)));
    case MathFunction::kTan:
      return done(TimesMinusI(ComplexTanh(TimesI(z))));
    case MathFunction::kAsin:
      return done(ComplexAsin(z));
    case MathFunction::kAcos:
      return done(ComplexAcos(z));
    case MathFunction::kAsinh:
      return done(TimesMinusI(ComplexAsin(TimesI(z))));
    case MathFunction::kAcosh:
      return done(ComplexAcosh(z));
    case MathFunction::kAtanh:
      return done(ComplexAtanh(z));
    case MathFunction::kAtan2:
      return done(ComplexAtan2(z, operand(1)));
    case MathFunction::kPow:
      return done(ComplexPow(z, operand(1)));
    case MathFunction::kAbs:
      return done({Builtin("hypot", {z.re, z.im}), z.re.Constant(0)});
    case MathFunction::kSign:
      return done(ComplexSign(z));
    case MathFunction::kLogistic:
      return done(ComplexLogistic(z));
    default:
      return absl::InternalError(absl::StrCat("onexpu: mathematical function number ",
                                              static_cast<int>(function), " has no complex form"));
  }
}

}  // namespace onexpu::compiler
