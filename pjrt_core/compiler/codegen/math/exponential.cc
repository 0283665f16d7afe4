#include "pjrt_core/compiler/codegen/math/exponential.h"

#include <cstdint>

namespace onexpu::compiler {
namespace {

constexpr double kLog2 = 0.693147180559945309417;

// Adding it leaves a float's integer part in the lowest bits of the mantissa.
constexpr double kIntegerInMantissa = 12582912;  // 1.5 * 2^23

// expm1(r) = r + r^2 P(r) on [-log(2)/2, log(2)/2]: minimax, found by Lawson's iteration, each
// coefficient rounded to a float before the next was sought; 1.4e-8 of the value.
constexpr double kExpm1[] = {0.49999997, 0.16666546, 0.041667435, 0.008366277, 0.0013870731};

constexpr int kMantissaBits = 23;

}  // namespace

ScaledExponential ScaleExponential(const Real& t) {
  llvm::IRBuilderBase& b = t.b();
  const Real shifted = Fma(t, t.Constant(1 / kLog2), t.Constant(kIntegerInMantissa));
  const Real n = shifted - kIntegerInMantissa;
  const Real r = Fma(-n, t.Constant(kLog2Low), Fma(-n, t.Constant(kLog2High), t));
  // The bits above n's leave at the top.
  llvm::Value* bits = b.CreateBitCast(shifted.value(), b.getInt32Ty());
  return {Fma(r * r, Polynomial(r, kExpm1), r), b.CreateShl(bits, kMantissaBits)};
}

Real Exponential(const Real& x) {
  if (x.is_double()) return Builtin("exp", x);
  constexpr double kMaxArgument = 88.7228317;  // the last whose exponential is finite
  constexpr double kMinArgument = -104;        // everything below is 0
  constexpr double kMinNormalArgument = -87;   // below it 2^n may be no normal number
  constexpr int32_t kExponentOffset = 64;  // by which the exponent of small ones is too great first
  llvm::IRBuilderBase& b = x.b();
  Real t = Select(Greater(x, kMaxArgument), x.Constant(kMaxArgument), x);  // NaN stays
  t = Select(Less(t, kMinArgument), x.Constant(kMinArgument), t);
  const ScaledExponential scaled = ScaleExponential(t);
  llvm::Value* is_small = Less(t, kMinNormalArgument);
  llvm::Value* bits = b.CreateBitCast((scaled.expm1_r + 1).value(), b.getInt32Ty());
  bits = b.CreateAdd(bits, scaled.exponent);
  bits = b.CreateAdd(
      bits, b.CreateSelect(is_small, b.getInt32(kExponentOffset << kMantissaBits), b.getInt32(0)));
  const Real raised(b.CreateBitCast(bits, x.value()->getType()), b);
  const Real result = raised * Select(is_small, x.Constant(0x1p-64), x.Constant(1));
  return Select(Greater(x, kMaxArgument), x.Infinity(), result);
}

}  // namespace onexpu::compiler
