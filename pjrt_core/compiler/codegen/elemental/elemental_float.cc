// Real floating-point numbers, in f32 or f64; the caller rounds to the HLO type.
#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/math/math_emitter.h"
#include "pjrt_core/compiler/codegen/math/narrow_float.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;
using xla::HloOpcode;

struct FunctionOfOpcode {
  HloOpcode opcode;
  MathFunction function;
};

constexpr FunctionOfOpcode kFunctions[] = {
    {HloOpcode::kExp, MathFunction::kExp},
    {HloOpcode::kExpm1, MathFunction::kExpm1},
    {HloOpcode::kLog, MathFunction::kLog},
    {HloOpcode::kLog1p, MathFunction::kLog1p},
    {HloOpcode::kSqrt, MathFunction::kSqrt},
    {HloOpcode::kRsqrt, MathFunction::kRsqrt},
    {HloOpcode::kCbrt, MathFunction::kCbrt},
    {HloOpcode::kSin, MathFunction::kSin},
    {HloOpcode::kCos, MathFunction::kCos},
    {HloOpcode::kTan, MathFunction::kTan},
    {HloOpcode::kTanh, MathFunction::kTanh},
    {HloOpcode::kSinh, MathFunction::kSinh},
    {HloOpcode::kCosh, MathFunction::kCosh},
    {HloOpcode::kAsin, MathFunction::kAsin},
    {HloOpcode::kAcos, MathFunction::kAcos},
    {HloOpcode::kAsinh, MathFunction::kAsinh},
    {HloOpcode::kAcosh, MathFunction::kAcosh},
    {HloOpcode::kAtanh, MathFunction::kAtanh},
    {HloOpcode::kAtan2, MathFunction::kAtan2},
    {HloOpcode::kPower, MathFunction::kPow},
    {HloOpcode::kRemainder, MathFunction::kRem},
    {HloOpcode::kFloor, MathFunction::kFloor},
    {HloOpcode::kCeil, MathFunction::kCeil},
    {HloOpcode::kRoundNearestAfz, MathFunction::kRoundNearestAwayFromZero},
    {HloOpcode::kRoundNearestEven, MathFunction::kRoundNearestEven},
    {HloOpcode::kErf, MathFunction::kErf},
    {HloOpcode::kLogistic, MathFunction::kLogistic},
};

Value* Infinity(Value* like) { return llvm::ConstantFP::getInfinity(like->getType()); }
Value* Zero(Value* like) { return llvm::ConstantFP::get(like->getType(), 0); }

// Without an intrinsic, for every device has these operations on integers.
Value* Magnitude(Value* value, llvm::IRBuilder<>& b) {
  return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
}

Value* Sign(Value* value, llvm::IRBuilder<>& b) {
  Value* one = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign,
                                       llvm::ConstantFP::get(value->getType(), 1), value);
  // Zeros and NaN are their own sign.
  Value* unordered_or_zero = b.CreateFCmpUEQ(value, Zero(value));
  return b.CreateSelect(unordered_or_zero, value, one);
}

}  // namespace

absl::StatusOr<Value*> EmitFloatOperation(FusionContext& context, const HloInstruction& instruction,
                                          Operands operands) {
  llvm::IRBuilder<>& b = context.b();
  switch (instruction.opcode()) {
    case HloOpcode::kSubtract:
      return b.CreateFSub(operands[0], operands[1]);
    case HloOpcode::kDivide:
      return b.CreateFDiv(operands[0], operands[1]);
    case HloOpcode::kNegate:
      return b.CreateFNeg(operands[0]);
    case HloOpcode::kAbs:
      return Magnitude(operands[0], b);
    case HloOpcode::kSign:
      return Sign(operands[0], b);
    case HloOpcode::kIsFinite:
      return b.CreateFCmpOLT(Magnitude(operands[0], b), Infinity(operands[0]));
    case HloOpcode::kReal:
      return operands[0];
    case HloOpcode::kImag:
      return Zero(operands[0]);
    default:
      break;
  }
  for (const FunctionOfOpcode& entry : kFunctions) {
    if (entry.opcode == instruction.opcode())
      return EmitMath(entry.function, operands,
                      context.target().device->has_exponential_instruction, b);
  }
  return UnsupportedOperation(instruction, "not an operation on floating-point numbers");
}

// On the bits of the type itself: mantissa rounded to nearest even, then what the exponent cannot
// hold becomes infinity or zero. NaN stays.
absl::StatusOr<Value*> EmitReducePrecision(FusionContext& context,
                                           const HloInstruction& instruction, Value* value) {
  llvm::IRBuilder<>& b = context.b();
  const xla::PrimitiveType type = instruction.shape().element_type();
  if (type != xla::F16 && type != xla::BF16 && type != xla::F32 && type != xla::F64) {
    return UnsupportedOperation(instruction);
  }
  const int bits = xla::primitive_util::BitWidth(type);
  const int mantissa = xla::primitive_util::SignificandWidth(type) - 1;
  const int exponent = bits - 1 - mantissa;
  llvm::IntegerType* integer = b.getIntNTy(bits);
  auto constant = [&](uint64_t number) { return llvm::ConstantInt::get(integer, number); };
  auto ones = [](int count) { return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1; };

  Value* stored = ToStorage(value, type, context.target(), b);
  Value* raw = b.CreateBitCast(stored, integer);
  Value* is_nan = b.CreateICmpUGT(b.CreateAnd(raw, constant(ones(bits - 1))),
                                  constant(ones(exponent) << mantissa));
  Value* result = raw;
  if (const int wanted = instruction.mantissa_bits(); wanted < mantissa) {
    const int dropped = mantissa - wanted;
    Value* even = b.CreateAnd(b.CreateLShr(raw, dropped), constant(1));
    Value* rounded = b.CreateAdd(b.CreateAdd(raw, constant(ones(dropped - 1))), even);
    result = b.CreateAnd(rounded, constant(~ones(dropped) & ones(bits)));
  }
  if (const int wanted = instruction.exponent_bits(); wanted < exponent) {
    const uint64_t bias = ones(exponent - 1);
    const uint64_t reduced_bias = ones(wanted - 1);
    Value* sign = b.CreateAnd(raw, constant(uint64_t{1} << (bits - 1)));
    Value* biased = b.CreateAnd(result, constant(ones(exponent) << mantissa));
    Value* overflow = b.CreateICmpUGT(biased, constant((bias + reduced_bias) << mantissa));
    Value* underflow = b.CreateICmpULE(biased, constant((bias - reduced_bias) << mantissa));
    result =
        b.CreateSelect(overflow, b.CreateOr(sign, constant(ones(exponent) << mantissa)), result);
    result = b.CreateSelect(underflow, sign, result);
  }
  result = b.CreateSelect(is_nan, raw, result);
  return FromStorage(b.CreateBitCast(result, stored->getType()), type, context.target(), b);
}

}  // namespace onexpu::compiler
