#include "pjrt_core/compiler/codegen/math/logarithm.h"

#include <cstdint>

#include "pjrt_core/compiler/codegen/math/exponential.h"

namespace onexpu::compiler {
namespace {

// log(1 + f) = 2 s + s^3 P(s^2) with s = f / (2 + f), for 1 + f between sqrt(1/2) and sqrt(2):
// minimax, found by Lawson's iteration, each coefficient rounded to a float before the next was
// sought; 2.5e-11 of the value.
constexpr double kLog[] = {0.6666666, 0.40000972, 0.28498793, 0.24278815};

constexpr int kMantissaBits = 23;
constexpr int32_t kOne = 0x3f800000;
constexpr int32_t kSqrtHalf = 0x3f3504f3;
constexpr int32_t kMantissa = 0x007fffff;

// log(u + rest) for a positive normal u, and a rest below u's last place.
Real LogarithmOfSum(const Real& u, const Real& rest) {
  llvm::IRBuilderBase& b = u.b();
  llvm::Type* type = u.value()->getType();
  // u = 2^k m
  llvm::Value* bits =
      b.CreateAdd(b.CreateBitCast(u.value(), b.getInt32Ty()), b.getInt32(kOne - kSqrtHalf));
  llvm::Value* exponent =
      b.CreateSub(b.CreateLShr(bits, kMantissaBits), b.getInt32(kOne >> kMantissaBits));
  llvm::Value* mantissa =
      b.CreateAdd(b.CreateAnd(bits, b.getInt32(kMantissa)), b.getInt32(kSqrtHalf));
  const Real m(b.CreateBitCast(mantissa, type), b);
  // 2^-k, or nearly 0 where u is so great that the rest says nothing.
  llvm::Value* few = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, exponent, b.getInt32(126));
  llvm::Value* power = b.CreateSub(b.getInt32(kOne), b.CreateShl(few, kMantissaBits));
  const Real f = Fma(rest, Real(b.CreateBitCast(power, type), b), m - 1);
  const Real k(b.CreateSIToFP(exponent, type), b);
  const Real s = f / (f + 2);
  const Real z = s * s;
  // 2 s = f - f^2 / 2 + s f^2 / 2, of which the first term is exact.
  const Real half_square = 0.5 * f * f;
  const Real small = Fma(s, Fma(z, Polynomial(z, kLog), half_square), k * kLog2Low);
  return Fma(k, u.Constant(kLog2High), f - (half_square - small));
}

}  // namespace

Real LogarithmOfOnePlus(const Real& x) {
  if (x.is_double()) return Builtin("log1p", x);
  llvm::IRBuilderBase& b = x.b();
  // What the sum's rounding lost, exactly.
  const Real u = x + 1;
  const Real from_one = u - 1;
  const Real rest = (1 - (u - from_one)) + (x - from_one);
  const Real result = LogarithmOfSum(u, rest);
  const Real of_finite =
      Select(Greater(x, -1), result, Select(Equal(x, -1), -x.Infinity(), x.Nan()));
  // Zeros keep their sign, NaN stays what it is.
  llvm::Value* stays = b.CreateOr(b.CreateFCmpUEQ(x.value(), x.Infinity().value()), Equal(x, 0));
  return Select(stays, x, of_finite);
}

}  // namespace onexpu::compiler
