#include "pjrt_core/compiler/codegen/math/hyperbolic.h"

#include <cstdint>

#include "pjrt_core/compiler/codegen/math/exponential.h"

namespace onexpu::compiler {
namespace {

// Twice an operand beyond which the result is 1 to all digits of a float.
constexpr double kSaturated = 20;

}  // namespace

// tanh(x) = e / (e + 2) with e = expm1(2|x|) = 2^n (1 + expm1(r)) - 1.
Real HyperbolicTangent(const Real& x) {
  if (x.is_double()) return Builtin("tanh", x);
  llvm::IRBuilderBase& b = x.b();
  const Real magnitude = Abs(x);
  const Real twice = magnitude + magnitude;
  const Real t = Select(Greater(twice, kSaturated), x.Constant(kSaturated), twice);  // NaN stays
  const ScaledExponential scaled = ScaleExponential(t);
  constexpr int32_t kOne = 0x3f800000;
  const Real power(
      b.CreateBitCast(b.CreateAdd(scaled.exponent, b.getInt32(kOne)), x.value()->getType()), b);
  const Real expm1 = Fma(power, scaled.expm1_r, power - 1);
  return CopySign(expm1 / (expm1 + 2), x);
}

}  // namespace onexpu::compiler
