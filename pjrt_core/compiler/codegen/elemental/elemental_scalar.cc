// The arithmetic that does not depend on the kind of number, and the choice among the files that
// does.
#include <string>

#include "llvm/IR/Constants.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/elemental/excess_precision.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/math/narrow_float.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::IRBuilderBase;
using llvm::Value;
using xla::HloInstruction;
using xla::HloOpcode;
using xla::PrimitiveType;

bool IsFloat(PrimitiveType type) { return xla::primitive_util::IsFloatingPointType(type); }

llvm::CmpInst::Predicate IntegerPredicate(xla::ComparisonDirection direction, bool is_signed) {
  using xla::ComparisonDirection;
  switch (direction) {
    case ComparisonDirection::kEq:
      return llvm::CmpInst::ICMP_EQ;
    case ComparisonDirection::kNe:
      return llvm::CmpInst::ICMP_NE;
    case ComparisonDirection::kGe:
      return is_signed ? llvm::CmpInst::ICMP_SGE : llvm::CmpInst::ICMP_UGE;
    case ComparisonDirection::kGt:
      return is_signed ? llvm::CmpInst::ICMP_SGT : llvm::CmpInst::ICMP_UGT;
    case ComparisonDirection::kLe:
      return is_signed ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_ULE;
    case ComparisonDirection::kLt:
      return is_signed ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT;
  }
  return llvm::CmpInst::ICMP_EQ;
}

llvm::CmpInst::Predicate FloatPredicate(xla::ComparisonDirection direction) {
  using xla::ComparisonDirection;
  switch (direction) {
    case ComparisonDirection::kEq:
      return llvm::CmpInst::FCMP_OEQ;
    case ComparisonDirection::kNe:
      return llvm::CmpInst::FCMP_UNE;
    case ComparisonDirection::kGe:
      return llvm::CmpInst::FCMP_OGE;
    case ComparisonDirection::kGt:
      return llvm::CmpInst::FCMP_OGT;
    case ComparisonDirection::kLe:
      return llvm::CmpInst::FCMP_OLE;
    case ComparisonDirection::kLt:
      return llvm::CmpInst::FCMP_OLT;
  }
  return llvm::CmpInst::FCMP_OEQ;
}

// Operations on floats whose result needs no rounding to their type.
bool IsExact(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAbs:
    case HloOpcode::kCeil:
    case HloOpcode::kFloor:
    case HloOpcode::kImag:
    case HloOpcode::kIsFinite:
    case HloOpcode::kNegate:
    case HloOpcode::kReal:
    case HloOpcode::kRoundNearestAfz:
    case HloOpcode::kRoundNearestEven:
    case HloOpcode::kSign:
      return true;
    default:
      return false;
  }
}

// -NaN < -inf < ... < -0 < +0 < ... < +inf < NaN as signed integers.
Value* TotalOrderKey(Value* value, IRBuilderBase& b) {
  const unsigned bits = value->getType()->getPrimitiveSizeInBits();
  llvm::Type* integer = b.getIntNTy(bits);
  Value* raw = b.CreateBitCast(value, integer);
  Value* flip = b.CreateLShr(b.CreateAShr(raw, bits - 1), 1);
  return b.CreateXor(raw, flip);
}

absl::StatusOr<Value*> EmitCompare(const HloInstruction& instruction, Operands operands,
                                   IRBuilderBase& b) {
  const PrimitiveType type = instruction.operand(0)->shape().element_type();
  const xla::ComparisonDirection direction = instruction.comparison_direction();
  if (IsComplexType(type)) {
    Value* equal = b.CreateAnd(
        b.CreateFCmpOEQ(b.CreateExtractValue(operands[0], 0), b.CreateExtractValue(operands[1], 0)),
        b.CreateFCmpOEQ(b.CreateExtractValue(operands[0], 1),
                        b.CreateExtractValue(operands[1], 1)));
    if (direction == xla::ComparisonDirection::kEq) return equal;
    if (direction == xla::ComparisonDirection::kNe) return b.CreateNot(equal);
    return UnsupportedOperation(instruction, "complex numbers are not ordered");
  }
  if (!IsFloat(type)) {
    const bool is_signed = xla::primitive_util::IsSignedIntegralType(type);
    return b.CreateICmp(IntegerPredicate(direction, is_signed), operands[0], operands[1]);
  }
  if (xla::Cast<xla::HloCompareInstruction>(&instruction)->order() ==
      xla::ComparisonOrder::kTotal) {
    return b.CreateICmp(IntegerPredicate(direction, true), TotalOrderKey(operands[0], b),
                        TotalOrderKey(operands[1], b));
  }
  return b.CreateFCmp(FloatPredicate(direction), operands[0], operands[1]);
}

// The greater or lesser of two floats, a NaN when there is one.
Value* FloatExtremum(Value* lhs, Value* rhs, bool maximum, IRBuilderBase& b) {
  // One instruction of a CPU. Gives the second where none is better.
  const auto better = [&](Value* first, Value* second) {
    Value* is_first = maximum ? b.CreateFCmpOGT(first, second) : b.CreateFCmpOLT(first, second);
    return b.CreateSelect(is_first, first, second);
  };
  // Whether it is a constant that may stand for everything equal to it: no zero, or the zero that
  // wins.
  const auto wins_over_equals = [&](Value* value) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(value);
    return constant && !constant->isNaN() &&
           (!constant->isZero() || constant->isNegative() != maximum);
  };
  if (wins_over_equals(lhs)) std::swap(lhs, rhs);
  if (wins_over_equals(rhs))
    return b.CreateSelect(b.CreateFCmpUNO(lhs, lhs), lhs, better(lhs, rhs));
  // Of equal values only zeros differ, in the sign: each way round gives the other one.
  llvm::Type* integer = b.getIntNTy(lhs->getType()->getPrimitiveSizeInBits());
  Value* one = b.CreateBitCast(better(lhs, rhs), integer);
  Value* other = b.CreateBitCast(better(rhs, lhs), integer);
  Value* both = maximum ? b.CreateAnd(one, other) : b.CreateOr(one, other);
  return b.CreateSelect(b.CreateFCmpUNO(lhs, rhs), llvm::ConstantFP::getNaN(lhs->getType()),
                        b.CreateBitCast(both, lhs->getType()));
}

Value* EmitExtremum(Value* lhs, Value* rhs, bool maximum, PrimitiveType type, IRBuilderBase& b) {
  if (IsFloat(type)) return FloatExtremum(lhs, rhs, maximum, b);
  if (IsComplexType(type)) {
    // Lexicographic, as sorting does.
    Value* l[2] = {b.CreateExtractValue(lhs, 0), b.CreateExtractValue(lhs, 1)};
    Value* r[2] = {b.CreateExtractValue(rhs, 0), b.CreateExtractValue(rhs, 1)};
    auto better = [&](int i) {
      return maximum ? b.CreateFCmpUGT(l[i], r[i]) : b.CreateFCmpULT(l[i], r[i]);
    };
    Value* take_lhs = b.CreateOr(better(0), b.CreateAnd(b.CreateFCmpOEQ(l[0], r[0]), better(1)));
    return b.CreateSelect(take_lhs, lhs, rhs);
  }
  const bool is_signed = xla::primitive_util::IsSignedIntegralType(type);
  const auto direction = maximum ? xla::ComparisonDirection::kGt : xla::ComparisonDirection::kLt;
  return b.CreateSelect(b.CreateICmp(IntegerPredicate(direction, is_signed), lhs, rhs), lhs, rhs);
}

}  // namespace

Value* EmitMaximum(Value* lhs, Value* rhs, PrimitiveType type, IRBuilderBase& b) {
  return EmitExtremum(lhs, rhs, true, type, b);
}

Value* EmitMinimum(Value* lhs, Value* rhs, PrimitiveType type, IRBuilderBase& b) {
  return EmitExtremum(lhs, rhs, false, type, b);
}

Value* EmitAdd(Value* lhs, Value* rhs, IRBuilderBase& b) {
  llvm::Type* type = lhs->getType();
  if (type->isIntegerTy(1)) return b.CreateOr(lhs, rhs);
  if (type->isIntegerTy()) return b.CreateAdd(lhs, rhs);
  if (type->isFloatingPointTy()) return b.CreateFAdd(lhs, rhs);
  Value* result = llvm::PoisonValue::get(type);
  for (unsigned i : {0u, 1u}) {
    Value* part = b.CreateFAdd(b.CreateExtractValue(lhs, i), b.CreateExtractValue(rhs, i));
    result = b.CreateInsertValue(result, part, i);
  }
  return result;
}

Value* EmitMultiply(Value* lhs, Value* rhs, IRBuilderBase& b) {
  llvm::Type* type = lhs->getType();
  if (type->isIntegerTy(1)) return b.CreateAnd(lhs, rhs);
  if (type->isIntegerTy()) return b.CreateMul(lhs, rhs);
  if (type->isFloatingPointTy()) return b.CreateFMul(lhs, rhs);
  Value* lr = b.CreateExtractValue(lhs, 0);
  Value* li = b.CreateExtractValue(lhs, 1);
  Value* rr = b.CreateExtractValue(rhs, 0);
  Value* ri = b.CreateExtractValue(rhs, 1);
  Value* re = b.CreateFSub(b.CreateFMul(lr, rr), b.CreateFMul(li, ri));
  Value* im = b.CreateFAdd(b.CreateFMul(lr, ri), b.CreateFMul(li, rr));
  return b.CreateInsertValue(b.CreateInsertValue(llvm::PoisonValue::get(type), re, 0), im, 1);
}

Value* EmitBitcastConvert(Value* value, PrimitiveType from, PrimitiveType to, const Target& target,
                          IRBuilderBase& b) {
  if (from == to) return value;
  Value* bits = ToStorage(value, from, target, b);
  if (!bits->getType()->isStructTy()) bits = b.CreateBitCast(bits, StorageType(to, b.getContext()));
  return Normalize(FromStorage(bits, to, target, b), IsNarrowFloat(to) ? xla::F32 : to, target, b);
}

llvm::Constant* LiteralElement(const xla::Literal& literal, int64_t linear,
                               llvm::LLVMContext& context) {
  const PrimitiveType type = literal.shape().element_type();
  llvm::Type* compute = ComputeType(type, context);
  return xla::primitive_util::ArrayTypeSwitch(
      [&](auto constant) -> llvm::Constant* {
        using Native = xla::primitive_util::NativeTypeOf<constant>;
        const Native element = literal.data<Native>()[linear];
        if constexpr (xla::primitive_util::IsComplexType(constant)) {
          auto* part = compute->getStructElementType(0);
          return llvm::ConstantStruct::get(llvm::cast<llvm::StructType>(compute),
                                           {llvm::ConstantFP::get(part, element.real()),
                                            llvm::ConstantFP::get(part, element.imag())});
        } else if constexpr (constant == xla::F32) {
          return llvm::ConstantFP::get(context, llvm::APFloat(element));
        } else if constexpr (constant == xla::F64) {
          return llvm::ConstantFP::get(context, llvm::APFloat(element));
        } else if constexpr (xla::primitive_util::IsFloatingPointType(constant)) {
          return llvm::ConstantFP::get(context, llvm::APFloat(static_cast<float>(element)));
        } else if constexpr (constant == xla::PRED) {
          return llvm::ConstantInt::get(compute, element ? 1 : 0);
        } else if constexpr (xla::primitive_util::IsSignedIntegralType(constant)) {
          return llvm::ConstantInt::getSigned(compute, static_cast<int64_t>(element));
        } else {
          return llvm::ConstantInt::get(compute, static_cast<uint64_t>(element));
        }
      },
      type);
}

absl::StatusOr<Value*> EmitScalarOperation(FusionContext& context,
                                           const HloInstruction& instruction, Operands operands) {
  llvm::IRBuilder<>& b = context.b();
  const PrimitiveType result_type = instruction.shape().element_type();
  const auto round = [&](Value* value) {
    return MayStayWide(instruction) ? value : Normalize(value, result_type, context.target(), b);
  };
  switch (instruction.opcode()) {
    case HloOpcode::kCopy:
    case HloOpcode::kDomain:
    case HloOpcode::kOptimizationBarrier:
      return operands[0];
    case HloOpcode::kConvert:
      return EmitConvert(operands[0], instruction.operand(0)->shape().element_type(), result_type,
                         context.target(), b);
    case HloOpcode::kBitcastConvert:
      return EmitBitcastConvert(operands[0], instruction.operand(0)->shape().element_type(),
                                result_type, context.target(), b);
    case HloOpcode::kCompare:
      return EmitCompare(instruction, operands, b);
    case HloOpcode::kSelect:
      return b.CreateSelect(operands[0], operands[1], operands[2]);
    case HloOpcode::kMaximum:
      return EmitMaximum(operands[0], operands[1], result_type, b);
    case HloOpcode::kMinimum:
      return EmitMinimum(operands[0], operands[1], result_type, b);
    case HloOpcode::kClamp:
      return EmitMinimum(EmitMaximum(operands[1], operands[0], result_type, b), operands[2],
                         result_type, b);
    case HloOpcode::kAdd:
      return round(EmitAdd(operands[0], operands[1], b));
    case HloOpcode::kMultiply:
      return round(EmitMultiply(operands[0], operands[1], b));
    case HloOpcode::kComplex: {
      Value* empty = llvm::PoisonValue::get(ComputeType(result_type, context.llvm_context()));
      return b.CreateInsertValue(b.CreateInsertValue(empty, operands[0], 0), operands[1], 1);
    }
    case HloOpcode::kReducePrecision:
      return EmitReducePrecision(context, instruction, operands[0]);
    default:
      break;
  }
  const PrimitiveType type = instruction.operand(0)->shape().element_type();
  if (IsComplexType(type)) return EmitComplexOperation(context, instruction, operands);
  if (!IsFloat(type)) return EmitIntegerOperation(context, instruction, operands);
  TF_ASSIGN_OR_RETURN(Value * result, EmitFloatOperation(context, instruction, operands));
  return IsExact(instruction.opcode()) ? result : round(result);
}

}  // namespace onexpu::compiler
