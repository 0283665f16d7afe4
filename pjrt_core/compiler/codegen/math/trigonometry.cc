#include "pjrt_core/compiler/codegen/math/trigonometry.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/Function.h"

namespace onexpu::compiler {
namespace {

// Multiples of pi/2 up to here have 17 bits, so that their distances to the operand are exact.
constexpr double kReductionLimit = 131072;

// pi/2 as a sum of floats.
constexpr double kHalfPi[] = {1.57079637050628662109375, -4.37113882867379e-8,
                              -1.7151245100059e-15};

// Minimax polynomials on [0, (pi/4 + 0.02)^2] in z = angle^2, found by Lawson's iteration:
// sin(a) = a + a z S(z) to 0.08, cos(a) = 1 - z/2 + z^2 C(z) to 0.003 units in the last place of 1.
constexpr double kSine[] = {-0.1666665375, 0.008332056925, -0.0001950072619};
constexpr double kCosine[] = {0.04166664183, -0.001388720702, 2.441985998e-05};

Real Polynomial(const double (&coefficients)[3], const Real& z) {
  return Fma(Fma(z.Constant(coefficients[2]), z, z.Constant(coefficients[1])), z,
             z.Constant(coefficients[0]));
}

// x = quadrant * pi/2 + angle + tail
struct Reduced {
  llvm::Value* quadrant;  // i32
  Real angle;             // within pi/4 and a little
  Real tail;              // what the angle lacks in precision
};

Reduced Reduce(const Real& x) {
  llvm::IRBuilderBase& b = x.b();
  const Real n = Builtin("rint", x * (2 / 3.14159265358979323846));
  const Real high = Fma(-n, x.Constant(kHalfPi[0]), x);  // exact
  // high - n * kHalfPi[1] with the error of the product and that of the sum.
  const Real middle = n * kHalfPi[1];
  const Real middle_error = Fma(n, x.Constant(kHalfPi[1]), -middle);
  const Real angle = high - middle;
  const Real taken = angle - high;
  const Real sum_error = (high - (angle - taken)) - (middle + taken);
  return {b.CreateFPToSI(n.value(), b.getInt32Ty()), angle,
          Fma(-n, x.Constant(kHalfPi[2]), sum_error - middle_error)};
}

Real SineOf(const Reduced& x) {
  const Real& a = x.angle;
  const Real z = a * a;
  return a + Fma(a * z, Polynomial(kSine, z), x.tail);
}

Real CosineOf(const Reduced& x) {
  const Real& a = x.angle;
  const Real z = a * a;
  const Real half = 0.5 * z;
  const Real most = 1.0 - half;
  return most + (((1.0 - most) - half) + Fma(z * z, Polynomial(kCosine, z), -(a * x.tail)));
}

// The sine of x and a number of quarter turns, `shift`.
Real ShiftedSine(const Real& x, int shift) {
  llvm::IRBuilderBase& b = x.b();
  const Reduced reduced = Reduce(x);
  llvm::Value* quadrant = b.CreateAdd(reduced.quadrant, b.getInt32(shift));
  const auto has_bit = [&](int bit) {
    return b.CreateICmpNE(b.CreateAnd(quadrant, b.getInt32(bit)), b.getInt32(0));
  };
  const Real magnitude = Select(has_bit(1), CosineOf(reduced), SineOf(reduced));
  return Select(has_bit(2), -magnitude, magnitude);
}

// `common`, or `rare` if the condition holds. `rare` is computed in a branch.
Real Unless(llvm::Value* condition, const Real& common, llvm::function_ref<Real()> rare) {
  llvm::IRBuilderBase& b = common.b();
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* inside = llvm::BasicBlock::Create(b.getContext(), "rare", before->getParent());
  llvm::BasicBlock* after =
      llvm::BasicBlock::Create(b.getContext(), "end.rare", before->getParent());
  b.CreateCondBr(condition, inside, after);
  b.SetInsertPoint(inside);
  const Real value = rare();
  b.CreateBr(after);
  b.SetInsertPoint(after);
  llvm::PHINode* result = b.CreatePHI(common.value()->getType(), 2);
  result->addIncoming(common.value(), before);
  result->addIncoming(value.value(), inside);
  return {result, b};
}

// Infinities and NaN are far, too.
llvm::Value* IsFar(const Real& x) { return x.b().CreateNot(Less(Abs(x), kReductionLimit)); }

// Of the magnitude: beside a sine of the same operand, the CPU driver's compiler (intel-opencl-rt
// 2026.1.2) would make one call of both and may end the process over it.
Real BuiltinCosine(const Real& x) { return Builtin("cos", Abs(x)); }

}  // namespace

Real Sine(const Real& x) {
  if (x.is_double()) return Builtin("sin", x);
  // The reduction loses the sign of zero.
  const Real near = Select(Equal(x, 0), x, ShiftedSine(x, 0));
  return Unless(IsFar(x), near, [&] { return Builtin("sin", x); });
}

Real Cosine(const Real& x) {
  if (x.is_double()) return BuiltinCosine(x);
  return Unless(IsFar(x), ShiftedSine(x, 1), [&] { return BuiltinCosine(x); });
}

}  // namespace onexpu::compiler
