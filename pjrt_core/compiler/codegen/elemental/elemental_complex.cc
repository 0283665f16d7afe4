// Complex numbers as {re, im} structs.
#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/math/math_emitter.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;
using xla::HloOpcode;

ComplexValue Split(Value* value, llvm::IRBuilder<>& b) {
  return {b.CreateExtractValue(value, 0), b.CreateExtractValue(value, 1)};
}

Value* Join(const ComplexValue& value, llvm::IRBuilder<>& b) {
  llvm::Type* type =
      llvm::StructType::get(b.getContext(), {value.re->getType(), value.im->getType()});
  return b.CreateInsertValue(b.CreateInsertValue(llvm::PoisonValue::get(type), value.re, 0),
                             value.im, 1);
}

Value* Magnitude(Value* value, llvm::IRBuilder<>& b) {
  return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
}

Value* CopySign(Value* magnitude, Value* sign, llvm::IRBuilder<>& b) {
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
}

// Smith's division: the greater part of the divisor is divided out first, so that nothing overflows
// on the way. Then the special cases of C's annex G, where the formula gives NaN for what has a
// limit.
ComplexValue Divide(const ComplexValue& n, const ComplexValue& d, llvm::IRBuilder<>& b) {
  llvm::Type* type = n.re->getType();
  Value* zero = llvm::ConstantFP::get(type, 0);
  Value* one = llvm::ConstantFP::get(type, 1);
  Value* infinity = llvm::ConstantFP::getInfinity(type);
  Value* re_is_greater = b.CreateFCmpOGE(Magnitude(d.re, b), Magnitude(d.im, b));
  Value* greater = b.CreateSelect(re_is_greater, d.re, d.im);
  Value* lesser = b.CreateSelect(re_is_greater, d.im, d.re);
  Value* ratio = b.CreateFDiv(lesser, greater);
  Value* denominator = b.CreateFAdd(greater, b.CreateFMul(lesser, ratio));
  Value* first = b.CreateSelect(re_is_greater, n.re, n.im);
  Value* second = b.CreateSelect(re_is_greater, n.im, n.re);
  Value* re = b.CreateFDiv(b.CreateFAdd(first, b.CreateFMul(second, ratio)), denominator);
  Value* cross = b.CreateFSub(second, b.CreateFMul(first, ratio));
  Value* im = b.CreateFDiv(b.CreateSelect(re_is_greater, cross, b.CreateFNeg(cross)), denominator);

  auto is_infinite = [&](Value* x) { return b.CreateFCmpOEQ(Magnitude(x, b), infinity); };
  auto is_finite = [&](Value* x) { return b.CreateFCmpOLT(Magnitude(x, b), infinity); };
  auto is_nan = [&](Value* x) { return b.CreateFCmpUNO(x, x); };
  auto both = [&](Value* x, Value* y) { return b.CreateAnd(x, y); };
  auto either = [&](Value* x, Value* y) { return b.CreateOr(x, y); };
  auto unit = [&](Value* x) { return CopySign(b.CreateSelect(is_infinite(x), one, zero), x, b); };
  Value* undecided = both(is_nan(re), is_nan(im));

  // Something by zero.
  Value* by_zero = both(both(b.CreateFCmpOEQ(d.re, zero), b.CreateFCmpOEQ(d.im, zero)),
                        b.CreateNot(both(is_nan(n.re), is_nan(n.im))));
  Value* signed_infinity = CopySign(infinity, d.re, b);
  // Infinity by something finite.
  Value* infinite =
      both(either(is_infinite(n.re), is_infinite(n.im)), both(is_finite(d.re), is_finite(d.im)));
  Value* unit_re = unit(n.re);
  Value* unit_im = unit(n.im);
  Value* infinite_re = b.CreateFMul(
      infinity, b.CreateFAdd(b.CreateFMul(unit_re, d.re), b.CreateFMul(unit_im, d.im)));
  Value* infinite_im = b.CreateFMul(
      infinity, b.CreateFSub(b.CreateFMul(unit_im, d.re), b.CreateFMul(unit_re, d.im)));
  // Something finite by infinity.
  Value* vanishing =
      both(either(is_infinite(d.re), is_infinite(d.im)), both(is_finite(n.re), is_finite(n.im)));
  Value* by_re = unit(d.re);
  Value* by_im = unit(d.im);
  Value* vanishing_re =
      b.CreateFMul(zero, b.CreateFAdd(b.CreateFMul(n.re, by_re), b.CreateFMul(n.im, by_im)));
  Value* vanishing_im =
      b.CreateFMul(zero, b.CreateFSub(b.CreateFMul(n.im, by_re), b.CreateFMul(n.re, by_im)));

  auto choose = [&](Value* by_zero_value, Value* infinite_value, Value* vanishing_value,
                    Value* value) {
    Value* special = b.CreateSelect(vanishing, vanishing_value, value);
    special = b.CreateSelect(infinite, infinite_value, special);
    special = b.CreateSelect(by_zero, by_zero_value, special);
    return b.CreateSelect(undecided, special, value);
  };
  return {choose(b.CreateFMul(signed_infinity, n.re), infinite_re, vanishing_re, re),
          choose(b.CreateFMul(signed_infinity, n.im), infinite_im, vanishing_im, im)};
}

struct FunctionOfOpcode {
  HloOpcode opcode;
  MathFunction function;
};

constexpr FunctionOfOpcode kFunctions[] = {
    {HloOpcode::kExp, MathFunction::kExp},     {HloOpcode::kExpm1, MathFunction::kExpm1},
    {HloOpcode::kLog, MathFunction::kLog},     {HloOpcode::kLog1p, MathFunction::kLog1p},
    {HloOpcode::kSqrt, MathFunction::kSqrt},   {HloOpcode::kRsqrt, MathFunction::kRsqrt},
    {HloOpcode::kCbrt, MathFunction::kCbrt},   {HloOpcode::kSin, MathFunction::kSin},
    {HloOpcode::kCos, MathFunction::kCos},     {HloOpcode::kTan, MathFunction::kTan},
    {HloOpcode::kTanh, MathFunction::kTanh},   {HloOpcode::kSinh, MathFunction::kSinh},
    {HloOpcode::kCosh, MathFunction::kCosh},   {HloOpcode::kAsin, MathFunction::kAsin},
    {HloOpcode::kAcos, MathFunction::kAcos},   {HloOpcode::kAsinh, MathFunction::kAsinh},
    {HloOpcode::kAcosh, MathFunction::kAcosh}, {HloOpcode::kAtanh, MathFunction::kAtanh},
    {HloOpcode::kAtan2, MathFunction::kAtan2}, {HloOpcode::kPower, MathFunction::kPow},
    {HloOpcode::kSign, MathFunction::kSign},   {HloOpcode::kLogistic, MathFunction::kLogistic},
};

}  // namespace

absl::StatusOr<Value*> EmitComplexOperation(FusionContext& context,
                                            const HloInstruction& instruction, Operands operands) {
  llvm::IRBuilder<>& b = context.b();
  std::vector<ComplexValue> values;
  for (size_t i = 0; i < operands.size(); ++i) values.push_back(Split(operands[i], b));
  switch (instruction.opcode()) {
    case HloOpcode::kReal:
      return values[0].re;
    case HloOpcode::kImag:
      return values[0].im;
    case HloOpcode::kNegate:
      return Join({b.CreateFNeg(values[0].re), b.CreateFNeg(values[0].im)}, b);
    case HloOpcode::kSubtract:
      return Join(
          {b.CreateFSub(values[0].re, values[1].re), b.CreateFSub(values[0].im, values[1].im)}, b);
    case HloOpcode::kDivide:
      return Join(Divide(values[0], values[1], b), b);
    case HloOpcode::kAbs: {
      TF_ASSIGN_OR_RETURN(ComplexValue result, EmitComplexMath(MathFunction::kAbs, values, b));
      return result.re;
    }
    default:
      break;
  }
  for (const FunctionOfOpcode& entry : kFunctions) {
    if (entry.opcode != instruction.opcode()) continue;
    TF_ASSIGN_OR_RETURN(ComplexValue result, EmitComplexMath(entry.function, values, b));
    return Join(result, b);
  }
  return UnsupportedOperation(instruction, "not an operation on complex numbers");
}

}  // namespace onexpu::compiler
