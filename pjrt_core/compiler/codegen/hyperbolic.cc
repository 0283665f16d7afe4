#include "pjrt_core/compiler/codegen/hyperbolic.h"

#include <iterator>

namespace onexpu::compiler {
namespace {

constexpr double kLog2 = 0.693147180559945309417;

// Twice an operand beyond which the result is 1 to all digits of a float.
constexpr double kSaturated = 20;

// Adding it leaves a float's integer part in the lowest bits of the mantissa.
constexpr double kIntegerInMantissa = 12582912;  // 1.5 * 2^23

// expm1(r) = r + r^2 P(r) on [-log(2)/2, log(2)/2]: minimax, found by Lawson's iteration, each
// coefficient rounded to a float before the next was sought; 1.4e-8 of the value.
constexpr double kExpm1[] = {0.49999997, 0.16666546, 0.041667435, 0.008366277, 0.0013870731};

}  // namespace

// tanh(x) = e / (e + 2) with e = expm1(2|x|) = 2^n (expm1(r) + 1) - 1, 2|x| = n log(2) + r.
Real HyperbolicTangent(const Real& x) {
  if (x.is_double()) return Builtin("tanh", x);
  llvm::IRBuilderBase& b = x.b();
  const Real magnitude = Abs(x);
  const Real twice = magnitude + magnitude;
  const Real t = Select(Greater(twice, kSaturated), x.Constant(kSaturated), twice);  // NaN stays
  const Real shifted = Fma(t, x.Constant(1 / kLog2), x.Constant(kIntegerInMantissa));
  const Real n = shifted - kIntegerInMantissa;
  const Real r = Fma(-n, x.Constant(kLog2), t);

  Real polynomial = x.Constant(*std::rbegin(kExpm1));
  for (auto c = std::rbegin(kExpm1) + 1; c != std::rend(kExpm1); ++c)
    polynomial = Fma(polynomial, r, x.Constant(*c));
  const Real expm1_r = Fma(r * r, polynomial, r);

  // n moved to the place of the exponent, whose bias is 127.
  llvm::Value* exponent = b.CreateShl(b.CreateBitCast(shifted.value(), b.getInt32Ty()), 23);
  const Real power(
      b.CreateBitCast(b.CreateAdd(exponent, b.getInt32(127 << 23)), x.value()->getType()), b);
  const Real expm1 = Fma(power, expm1_r, power - 1);
  return CopySign(expm1 / (expm1 + 2), x);
}

}  // namespace onexpu::compiler
