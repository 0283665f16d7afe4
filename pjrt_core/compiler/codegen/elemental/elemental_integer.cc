// Integers and predicates. What LLVM leaves undefined (division by zero, wide shifts) has the value
// that XLA gives it.
#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;
using xla::HloOpcode;

llvm::ConstantInt* Constant(Value* like, int64_t value) {
  return llvm::ConstantInt::getSigned(llvm::cast<llvm::IntegerType>(like->getType()), value);
}

struct Division {
  Value* quotient;
  Value* remainder;
};

// x/0 = -1 (all ones), x%0 = x; the lowest value divided by -1 is itself, with remainder 0.
Division Divide(Value* lhs, Value* rhs, bool is_signed, int64_t bits, llvm::IRBuilder<>& b) {
  Value* by_zero = b.CreateICmpEQ(rhs, Constant(rhs, 0));
  Value* all_ones = Constant(lhs, -1);
  if (!is_signed) {
    Value* safe = b.CreateSelect(by_zero, Constant(rhs, 1), rhs);
    return {b.CreateSelect(by_zero, all_ones, b.CreateUDiv(lhs, safe)),
            b.CreateSelect(by_zero, lhs, b.CreateURem(lhs, safe))};
  }
  Value* lowest = llvm::ConstantInt::get(lhs->getType(), llvm::APInt::getSignedMinValue(bits).sext(
                                                             lhs->getType()->getIntegerBitWidth()));
  Value* overflow =
      b.CreateAnd(b.CreateICmpEQ(lhs, lowest), b.CreateICmpEQ(rhs, Constant(rhs, -1)));
  Value* safe = b.CreateSelect(b.CreateOr(by_zero, overflow), Constant(rhs, 1), rhs);
  // With the divisor 1 an overflow gives the lowest value and remainder 0 by itself.
  return {b.CreateSelect(by_zero, all_ones, b.CreateSDiv(lhs, safe)),
          b.CreateSelect(by_zero, lhs, b.CreateSRem(lhs, safe))};
}

// Shifting by the width or more gives 0, or the sign.
Value* Shift(HloOpcode opcode, Value* lhs, Value* rhs, int64_t bits, const Target& target,
             xla::PrimitiveType type, llvm::IRBuilder<>& b) {
  if (bits < 8) {
    // A sub-byte number of shifted places may be negative: it is a large one.
    rhs = b.CreateAnd(rhs, Constant(rhs, (1 << bits) - 1));
    if (opcode == HloOpcode::kShiftRightLogical)
      lhs = b.CreateAnd(lhs, Constant(lhs, (1 << bits) - 1));
    if (opcode == HloOpcode::kShiftRightArithmetic)
      lhs = b.CreateAShr(b.CreateShl(lhs, 8 - bits), 8 - bits);
  }
  Value* fits = b.CreateICmpULT(rhs, Constant(rhs, bits));
  Value* result;
  if (opcode == HloOpcode::kShiftRightArithmetic) {
    result = b.CreateAShr(lhs, b.CreateSelect(fits, rhs, Constant(rhs, bits - 1)));
  } else {
    Value* places = b.CreateSelect(fits, rhs, Constant(rhs, 0));
    Value* shifted =
        opcode == HloOpcode::kShiftLeft ? b.CreateShl(lhs, places) : b.CreateLShr(lhs, places);
    result = b.CreateSelect(fits, shifted, Constant(lhs, 0));
  }
  return Normalize(result, type, target, b);
}

// By squaring; a negative exponent gives 0, or 1 and -1 to the powers of 1 and -1.
absl::StatusOr<Value*> Power(FusionContext& context, Value* base, Value* exponent, bool is_signed) {
  llvm::IRBuilder<>& b = context.b();
  llvm::Type* type = base->getType();
  llvm::AllocaInst* result = context.Slot(type, Constant(base, 1));
  llvm::AllocaInst* square = context.Slot(type, base);
  llvm::AllocaInst* rest = context.Slot(type, exponent);
  TF_RETURN_IF_ERROR(context.While(
      [&]() -> absl::StatusOr<Value*> {
        return b.CreateICmpNE(b.CreateLoad(type, rest), Constant(base, 0));
      },
      [&]() -> absl::Status {
        Value* left = b.CreateLoad(type, rest);
        Value* factor = b.CreateLoad(type, square);
        Value* so_far = b.CreateLoad(type, result);
        Value* odd = b.CreateTrunc(left, b.getInt1Ty());
        b.CreateStore(b.CreateSelect(odd, b.CreateMul(so_far, factor), so_far), result);
        b.CreateStore(b.CreateMul(factor, factor), square);
        b.CreateStore(b.CreateLShr(left, 1), rest);
        return absl::OkStatus();
      }));
  Value* value = b.CreateLoad(type, result);
  if (!is_signed) return value;
  Value* odd = b.CreateTrunc(exponent, b.getInt1Ty());
  Value* of_minus_one = b.CreateSelect(odd, Constant(base, -1), Constant(base, 1));
  Value* inverse =
      b.CreateSelect(b.CreateICmpEQ(base, Constant(base, 1)), Constant(base, 1), Constant(base, 0));
  inverse = b.CreateSelect(b.CreateICmpEQ(base, Constant(base, -1)), of_minus_one, inverse);
  return b.CreateSelect(b.CreateICmpSLT(exponent, Constant(exponent, 0)), inverse, value);
}

absl::StatusOr<Value*> EmitPredicate(const HloInstruction& instruction, Operands operands,
                                     llvm::IRBuilder<>& b) {
  switch (instruction.opcode()) {
    case HloOpcode::kAnd:
      return b.CreateAnd(operands[0], operands[1]);
    case HloOpcode::kOr:
      return b.CreateOr(operands[0], operands[1]);
    case HloOpcode::kXor:
      return b.CreateXor(operands[0], operands[1]);
    case HloOpcode::kNot:
      return b.CreateNot(operands[0]);
    default:
      return UnsupportedOperation(instruction, "not an operation on predicates");
  }
}

}  // namespace

absl::StatusOr<Value*> EmitIntegerOperation(FusionContext& context,
                                            const HloInstruction& instruction, Operands operands) {
  llvm::IRBuilder<>& b = context.b();
  const xla::PrimitiveType type = instruction.operand(0)->shape().element_type();
  if (type == xla::PRED) return EmitPredicate(instruction, operands, b);
  const bool is_signed = xla::primitive_util::IsSignedIntegralType(type);
  const int64_t bits = xla::primitive_util::BitWidth(type);
  Value* lhs = operands[0];
  Value* rhs = operands.size() > 1 ? operands[1] : nullptr;
  auto wrapped = [&](Value* value) { return Normalize(value, type, context.target(), b); };
  // The bits that a sub-byte number has, for the operations that look at them.
  Value* pattern = bits < 8 ? b.CreateAnd(lhs, Constant(lhs, (1 << bits) - 1)) : lhs;
  switch (instruction.opcode()) {
    case HloOpcode::kSubtract:
      return wrapped(b.CreateSub(lhs, rhs));
    case HloOpcode::kDivide:
      return wrapped(Divide(lhs, rhs, is_signed, bits, b).quotient);
    case HloOpcode::kRemainder:
      return wrapped(Divide(lhs, rhs, is_signed, bits, b).remainder);
    case HloOpcode::kPower: {
      TF_ASSIGN_OR_RETURN(Value * result, Power(context, lhs, rhs, is_signed));
      return wrapped(result);
    }
    case HloOpcode::kAnd:
      return b.CreateAnd(lhs, rhs);
    case HloOpcode::kOr:
      return b.CreateOr(lhs, rhs);
    case HloOpcode::kXor:
      return wrapped(b.CreateXor(lhs, rhs));
    case HloOpcode::kNot:
      return wrapped(b.CreateNot(lhs));
    case HloOpcode::kNegate:
      return wrapped(b.CreateNeg(lhs));
    case HloOpcode::kAbs:
      if (!is_signed) return lhs;
      return wrapped(b.CreateSelect(b.CreateICmpSLT(lhs, Constant(lhs, 0)), b.CreateNeg(lhs), lhs));
    case HloOpcode::kSign: {
      Value* non_zero = b.CreateZExt(b.CreateICmpNE(lhs, Constant(lhs, 0)), lhs->getType());
      if (!is_signed) return non_zero;
      return b.CreateOr(non_zero, b.CreateAShr(lhs, lhs->getType()->getIntegerBitWidth() - 1));
    }
    case HloOpcode::kPopulationCount:
      return wrapped(b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, pattern));
    case HloOpcode::kClz: {
      Value* zeros = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, pattern, b.getFalse());
      return bits < 8 ? wrapped(b.CreateSub(zeros, Constant(zeros, 8 - bits))) : zeros;
    }
    case HloOpcode::kShiftLeft:
    case HloOpcode::kShiftRightLogical:
    case HloOpcode::kShiftRightArithmetic:
      return Shift(instruction.opcode(), lhs, rhs, bits, context.target(), type, b);
    default:
      return UnsupportedOperation(instruction, "not an operation on integers");
  }
}

}  // namespace onexpu::compiler
