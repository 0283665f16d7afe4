#include "pjrt_core/compiler/codegen/math/complex_math.h"

#include "pjrt_core/compiler/codegen/math/trigonometry.h"

namespace onexpu::compiler {
namespace {

llvm::Value* And(llvm::Value* x, llvm::Value* y, const Real& any) {
  return any.b().CreateAnd(x, y);
}
llvm::Value* Or(llvm::Value* x, llvm::Value* y, const Real& any) { return any.b().CreateOr(x, y); }

// Beyond this exp is taken in two factors, of which the first is e^(x - kShift): the whole may
// overflow, while the whole times a small sine does not.
Real Threshold(const Real& x) { return x.Constant(80, 700); }
Real Shift(const Real& x) { return x.Constant(64, 600); }

struct ScaledExp {
  Real mantissa;
  Real scale;  // e^x = mantissa * scale
};

ScaledExp ExpInTwo(const Real& x) {
  llvm::Value* large = Greater(x, Threshold(x));
  const Real shift = Select(large, Shift(x), x.Constant(0));
  return {Builtin("exp", x - shift),
          Select(large, x.Constant(6.235149080811617e27, 3.7730203009299397e260), x.Constant(1))};
}

// 0 when `y` is: products of a zero and an infinity are zero in these functions.
Real ZeroWith(const Real& y, const Real& value) { return Select(Equal(y, 0), y, value); }

struct SumWithError {
  Real sum;
  Real error;
};

SumWithError TwoSum(const Real& x, const Real& y) {
  const Real sum = x + y;
  const Real y_part = sum - x;
  return {sum, (x - (sum - y_part)) + (y - y_part)};
}

SumWithError TwoSquare(const Real& x) {
  const Real square = x * x;
  return {square, Builtin("fma", {x, x, -square})};
}

// start + x^2 + y^2 as if in twice the precision: the terms may cancel.
Real CompensatedNorm(const Real& start, const Real& x, const Real& y) {
  const SumWithError x2 = TwoSquare(x);
  const SumWithError y2 = TwoSquare(y);
  // The greater square first, so that it meets `start` undisturbed.
  llvm::Value* x_first = Greater(x2.sum, y2.sum);
  const SumWithError first = TwoSum(start, Select(x_first, x2.sum, y2.sum));
  const SumWithError second = TwoSum(first.sum, Select(x_first, y2.sum, x2.sum));
  return second.sum + (first.error + second.error + (x2.error + y2.error));
}

// Whether |z|^2 = 1 + `excess` is so near to 1 that its logarithm is log1p(excess).
llvm::Value* IsNearOne(const Real& excess) { return Less(Abs(excess), 0.5); }

}  // namespace

Real LogOfLength(const Real& x, const Real& y) {
  const Real a = Abs(x);
  const Real b = Abs(y);
  const Real greater = Builtin("fmax", {a, b});
  const Real ratio = Select(Equal(greater, 0), a.Constant(0), Builtin("fmin", {a, b}) / greater);
  const Real length = Builtin("log", greater) + 0.5 * Builtin("log1p", ratio * ratio);
  const Real known = Select(IsNan(a + b), a.Nan(), length);
  return Select(Equal(greater, a.Infinity()), a.Infinity(), known);
}

Complex ComplexExp(const Complex& z) {
  const ScaledExp e = ExpInTwo(z.re);
  const Real re = e.mantissa * Cosine(z.im) * e.scale;
  const Real im = e.mantissa * Sine(z.im) * e.scale;
  // e^-inf is zero at any angle, e^(x + 0i) is real for any x.
  llvm::Value* vanishes = Equal(z.re, -z.re.Infinity());
  const Real zero = z.re.Constant(0);
  const Real real_axis = Select(Equal(z.im, 0), e.mantissa * e.scale, re);
  llvm::Value* without_angle = And(vanishes, z.re.b().CreateNot(IsFinite(z.im)), z.re);
  // e^(inf + i*inf) is infinite in an unknown direction.
  llvm::Value* unknown =
      And(Equal(z.re, z.re.Infinity()), z.re.b().CreateNot(IsFinite(z.im)), z.re);
  return {Select(without_angle, zero, Select(unknown, z.re.Infinity(), real_axis)),
          ZeroWith(z.im, Select(without_angle, zero, im))};
}

Complex ComplexExpm1(const Complex& z) {
  const Complex whole = ComplexExp(z);
  // e^x cos y - 1 = (e^x - 1) cos y - 2 sin^2(y / 2): neither term cancels within itself.
  const Real half = Sine(0.5 * z.im);
  const Real re = Builtin("expm1", z.re) * Cosine(z.im) - 2.0 * half * half;
  const Real real_axis = Select(Equal(z.im, 0), Builtin("expm1", z.re), re);
  llvm::Value* moderate = And(Less(z.re, Threshold(z.re)), IsFinite(z.im), z.re);
  return {Select(moderate, real_axis, whole.re - 1.0), whole.im};
}

Complex ComplexLog(const Complex& z) {
  const Real excess = CompensatedNorm(z.re.Constant(-1), z.re, z.im);
  return {Select(IsNearOne(excess), 0.5 * Builtin("log1p", excess), LogOfLength(z.re, z.im)),
          Builtin("atan2", {z.im, z.re})};
}

Complex ComplexLog1p(const Complex& z) {
  const Real re = 1.0 + z.re;
  // |1 + z|^2 - 1 = 2x + x^2 + y^2
  const Real excess = CompensatedNorm(2.0 * z.re, z.re, z.im);
  return {Select(IsNearOne(excess), 0.5 * Builtin("log1p", excess), LogOfLength(re, z.im)),
          Builtin("atan2", {z.im, re})};
}

namespace {

struct ScaledRoot {
  Complex root;  // of z * scale^2
  Real length;   // |z| * scale^2
  Real scale;
};

// The root in the right half plane, of a multiple of z whose square neither overflows nor vanishes.
ScaledRoot RootOfScaled(const Complex& z) {
  const Real greater = Builtin("fmax", {Abs(z.re), Abs(z.im)});
  const Real one = greater.Constant(1);
  llvm::Value* large = Greater(greater, greater.Constant(0x1p100, 0x1p1000));
  llvm::Value* small = Less(greater, greater.Constant(0x1p-60, 0x1p-900));
  const Real scale =
      Select(large, one.Constant(0x1p-2), Select(small, one.Constant(0x1p24, 0x1p54), one));
  const Complex w = z * (scale * scale);
  const Real length = Builtin("hypot", {w.re, w.im});
  const Real root = Builtin("sqrt", 0.5 * (Abs(w.re) + length));
  const Real rest = Select(Equal(root, 0), Abs(w.im), Abs(w.im) / (2.0 * root));
  const Complex right = {root, CopySign(rest, z.im)};
  const Complex left = {rest, CopySign(root, z.im)};
  Complex result = Select(Less(z.re, 0), left, right);
  // An infinite imaginary part decides, whatever the real one is.
  llvm::Value* upright = IsInfinite(z.im);
  result = Select(upright, Complex{z.re.Infinity(), z.im}, result);
  return {result, length, scale};
}

}  // namespace

Complex ComplexSqrt(const Complex& z) {
  const ScaledRoot scaled = RootOfScaled(z);
  const Real back = 1.0 / scaled.scale;
  return scaled.root * back;
}

Complex ComplexRsqrt(const Complex& z) {
  // 1 / sqrt(w) = conj(sqrt(w)) / |w|
  const ScaledRoot scaled = RootOfScaled(z);
  const Complex result = {scaled.root.re / scaled.length * scaled.scale,
                          -scaled.root.im / scaled.length * scaled.scale};
  const Real zero = z.re.Constant(0);
  llvm::Value* infinite = Or(IsInfinite(z.re), IsInfinite(z.im), z.re);
  llvm::Value* origin = Equal(scaled.length, 0);
  return {Select(infinite, zero, Select(origin, z.re.Infinity(), result.re)),
          Select(infinite, CopySign(zero, -z.im), Select(origin, z.re.Nan(), result.im))};
}

namespace {

// sinh(x) and cosh(x) times `s` and `c`, for large x in two factors.
struct HyperbolicProducts {
  Real sinh_c;
  Real cosh_s;
};

HyperbolicProducts MultiplyHyperbolic(const Real& x, const Real& c, const Real& s) {
  llvm::Value* large = Greater(Abs(x), Threshold(x));
  const ScaledExp e = ExpInTwo(Abs(x));
  const Real half = 0.5 * e.mantissa;
  return {Select(large, CopySign(half, x) * c * e.scale, Builtin("sinh", x) * c),
          Select(large, half * s * e.scale, Builtin("cosh", x) * s)};
}

}  // namespace

Complex ComplexSinh(const Complex& z) {
  const HyperbolicProducts products = MultiplyHyperbolic(z.re, Cosine(z.im), Sine(z.im));
  // sinh(x + 0i) is real for any x; sinh(0 + iy) is imaginary for any y.
  const Real real_axis = Select(Equal(z.im, 0), Builtin("sinh", z.re), products.sinh_c);
  return {ZeroWith(z.re, real_axis), ZeroWith(z.im, products.cosh_s)};
}

Complex ComplexCosh(const Complex& z) {
  const HyperbolicProducts products = MultiplyHyperbolic(z.re, Sine(z.im), Cosine(z.im));
  llvm::Value* imaginary_is_zero = Or(Equal(z.re, 0), Equal(z.im, 0), z.re);
  const Real zero = CopySign(z.re.Constant(0),
                             CopySign(z.re.Constant(1), z.re) * CopySign(z.re.Constant(1), z.im));
  const Real real_axis = Select(Equal(z.im, 0), Builtin("cosh", z.re), products.cosh_s);
  return {real_axis, Select(imaginary_is_zero, zero, products.sinh_c)};
}

Complex ComplexTanh(const Complex& z) {
  // Kahan's form, with t = tan y, s = sinh x: ((1 + t^2) s sqrt(1 + s^2) + i t) / (1 + (1 + t^2)
  // s^2)
  const Real t = Builtin("tan", z.im);
  const Real s = Builtin("sinh", z.re);
  const Real beta = 1.0 + t * t;
  const Real denominator = 1.0 + beta * s * s;
  const Real re = beta * s * Builtin("sqrt", 1.0 + s * s) / denominator;
  // Beyond here sinh^2 would overflow, and tanh is 1 to all digits.
  const Real edge = z.re.Constant(11, 25);
  llvm::Value* large = Greater(Abs(z.re), edge);
  const Real one = CopySign(z.re.Constant(1), z.re);
  const Real decay = Builtin("exp", -2.0 * Abs(z.re));
  const Real far = 4.0 * Sine(z.im) * Cosine(z.im) * decay;
  const Real far_known = Select(And(IsInfinite(z.re), z.re.b().CreateNot(IsFinite(z.im)), z.re),
                                z.re.Constant(0), far);
  return {Select(large, one, re), ZeroWith(z.im, Select(large, far_known, t / denominator))};
}

Complex ComplexPow(const Complex& base, const Complex& exponent) {
  const Complex log = ComplexLog(base);
  const Real zero = base.re.Constant(0);
  const Real one = base.re.Constant(1);
  // An exponent part of zero drops its term, even against an infinite logarithm.
  const auto product = [&](const Real& factor, const Real& value) {
    return Select(Equal(factor, 0), zero, factor * value);
  };
  const Complex power = {product(exponent.re, log.re) - product(exponent.im, log.im),
                         product(exponent.re, log.im) + product(exponent.im, log.re)};
  const Complex general = ComplexExp(power);
  // A real exponent: the length by pow, which keeps all digits where exp(c log r) loses some.
  const Real length = Builtin("pow", {Builtin("hypot", {base.re, base.im}), exponent.re});
  const Real im = length * Sine(power.im);
  const Complex by_real = {length * Cosine(power.im), ZeroWith(power.im, im)};
  Complex result = Select(Equal(exponent.im, 0), by_real, general);
  llvm::Value* base_is_zero = And(Equal(base.re, 0), Equal(base.im, 0), base.re);
  result = Select(And(base_is_zero, Greater(exponent.re, 0), base.re), Complex{zero, zero}, result);
  llvm::Value* exponent_is_zero = And(Equal(exponent.re, 0), Equal(exponent.im, 0), base.re);
  return Select(exponent_is_zero, Complex{one, zero}, result);
}

Complex ComplexSign(const Complex& z) {
  const Real greater = Builtin("fmax", {Abs(z.re), Abs(z.im)});
  llvm::Value* is_zero = Equal(Abs(z.re) + Abs(z.im), 0);
  const Real divisor = Select(is_zero, z.re.Constant(1), greater);
  const Complex scaled = {z.re / divisor, z.im / divisor};
  const Real length = Select(is_zero, z.re.Constant(1), Builtin("hypot", {scaled.re, scaled.im}));
  return {scaled.re / length, scaled.im / length};
}

Complex ComplexLogistic(const Complex& z) {
  // 1 / (1 + e^-z) where e^-z is small, e^z / (1 + e^z) where e^z is.
  llvm::Value* right = Greater(z.re, 0);
  const Complex e = ComplexExp(Select(right, -z, z));
  const Complex denominator = {1.0 + e.re, e.im};
  const Real norm = denominator.re * denominator.re + denominator.im * denominator.im;
  const Complex inverse = {denominator.re / norm, -denominator.im / norm};
  return Select(right, inverse, e * inverse);
}

}  // namespace onexpu::compiler
