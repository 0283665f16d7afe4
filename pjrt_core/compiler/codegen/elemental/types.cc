#include "pjrt_core/compiler/codegen/elemental/types.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "llvm/IR/Constants.h"
#include "pjrt_core/compiler/codegen/math/narrow_float.h"
#include "xla/primitive_util.h"

namespace onexpu::compiler {
namespace {

using llvm::IRBuilderBase;
using llvm::Value;
using xla::PrimitiveType;

int64_t IntegerBits(PrimitiveType type) { return xla::primitive_util::BitWidth(type); }

bool IsInteger(PrimitiveType type) { return xla::primitive_util::IsIntegralType(type); }
bool IsSigned(PrimitiveType type) { return xla::primitive_util::IsSignedIntegralType(type); }
bool IsSubByte(PrimitiveType type) { return IsInteger(type) && IntegerBits(type) < 8; }

PrimitiveType ComponentType(PrimitiveType type) {
  return IsComplexType(type) ? xla::primitive_util::ComplexComponentType(type) : type;
}

// NaN becomes 0, what is out of range the nearest end of it.
Value* FloatToInteger(Value* value, PrimitiveType to, IRBuilderBase& b) {
  llvm::Type* type = ComputeType(to, b.getContext());
  const int64_t bits = IntegerBits(to);
  const int64_t storage_bits = type->getIntegerBitWidth();
  const bool is_signed = IsSigned(to);
  const double above = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  const double lowest = is_signed ? -above : 0;
  llvm::APInt max = is_signed ? llvm::APInt::getSignedMaxValue(bits).sext(storage_bits)
                              : llvm::APInt::getMaxValue(bits).zext(storage_bits);
  llvm::APInt min = is_signed ? llvm::APInt::getSignedMinValue(bits).sext(storage_bits)
                              : llvm::APInt(storage_bits, 0);
  llvm::Type* float_type = value->getType();
  // The conversion itself only sees values that it is defined for.
  Value* too_large = b.CreateFCmpOGE(value, llvm::ConstantFP::get(float_type, above));
  Value* too_small = b.CreateFCmpOLE(value, llvm::ConstantFP::get(float_type, lowest));
  Value* nan = b.CreateFCmpUNO(value, value);
  Value* unfit = b.CreateOr(nan, b.CreateOr(too_large, too_small));
  Value* safe = b.CreateSelect(unfit, llvm::ConstantFP::get(float_type, 0), value);
  Value* converted = is_signed ? b.CreateFPToSI(safe, type) : b.CreateFPToUI(safe, type);
  converted = b.CreateSelect(too_large, llvm::ConstantInt::get(type, max), converted);
  return b.CreateSelect(too_small, llvm::ConstantInt::get(type, min), converted);
}

Value* IntegerToFloat(Value* value, PrimitiveType from, llvm::Type* to, IRBuilderBase& b) {
  return IsSigned(from) ? b.CreateSIToFP(value, to) : b.CreateUIToFP(value, to);
}

Value* FloatToFloat(Value* value, PrimitiveType to, const Target& target, IRBuilderBase& b) {
  llvm::Type* wanted = ComputeType(to, b.getContext());
  if (IsNarrowFloat(to)) {
    if (value->getType()->isDoubleTy()) value = TruncateToOdd(value, b);
    return RoundToNarrowFloat(value, to, target.has_fp16, b);
  }
  return b.CreateFPCast(value, wanted);
}

// Between types that are not complex.
absl::StatusOr<Value*> ConvertReal(Value* value, PrimitiveType from, PrimitiveType to,
                                   const Target& target, IRBuilderBase& b) {
  llvm::Type* wanted = ComputeType(to, b.getContext());
  const bool to_float = xla::primitive_util::IsFloatingPointType(to);
  const bool from_float = xla::primitive_util::IsFloatingPointType(from);
  if (from == to) return value;
  if (to == xla::PRED) {
    if (from_float) return b.CreateFCmpUNE(value, llvm::ConstantFP::get(value->getType(), 0));
    return b.CreateICmpNE(value, llvm::ConstantInt::get(value->getType(), 0));
  }
  if (from == xla::PRED) {
    if (to_float) return b.CreateUIToFP(value, wanted);
    Value* wide = b.CreateZExt(value, wanted);
    return Normalize(wide, to, target, b);
  }
  if (from_float && to_float) {
    // A narrow float is already in f32; widening it is exact.
    return FloatToFloat(value, to, target, b);
  }
  if (from_float) return FloatToInteger(value, to, b);
  if (to_float) {
    if (!IsNarrowFloat(to)) return IntegerToFloat(value, from, wanted, b);
    return RoundToNarrowFloat(IntegerToFloat(value, from, wanted, b), to, target.has_fp16, b);
  }
  return Normalize(b.CreateIntCast(value, wanted, IsSigned(from)), to, target, b);
}

}  // namespace

absl::Status CheckElementType(PrimitiveType type, const Target& target) {
  const std::string name = xla::primitive_util::LowercasePrimitiveTypeName(type);
  if (!xla::primitive_util::IsArrayType(type)) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: kernels have no elements of type ", name));
  }
  if ((type == xla::F64 || type == xla::C128) && !target.has_fp64) {
    return absl::UnimplementedError(absl::StrCat("onexpu: ", name, " is not supported by ",
                                                 target.name,
                                                 ", which has no 64-bit floating point"));
  }
  return absl::OkStatus();
}

bool IsComplexType(PrimitiveType type) { return type == xla::C64 || type == xla::C128; }

llvm::Type* ComputeType(PrimitiveType type, llvm::LLVMContext& context) {
  if (type == xla::PRED) return llvm::Type::getInt1Ty(context);
  if (IsInteger(type))
    return llvm::Type::getIntNTy(context, std::max<int64_t>(8, IntegerBits(type)));
  if (type == xla::F64) return llvm::Type::getDoubleTy(context);
  if (IsComplexType(type)) {
    llvm::Type* part =
        type == xla::C64 ? llvm::Type::getFloatTy(context) : llvm::Type::getDoubleTy(context);
    return llvm::StructType::get(context, {part, part});
  }
  return llvm::Type::getFloatTy(context);
}

llvm::Type* StorageType(PrimitiveType type, llvm::LLVMContext& context) {
  if (type == xla::PRED) return llvm::Type::getInt8Ty(context);
  if (IsNarrowFloat(type)) return llvm::Type::getIntNTy(context, 8 * StorageBytes(type));
  return ComputeType(type, context);
}

int64_t StorageBytes(PrimitiveType type) {
  return std::max<int64_t>(1, xla::primitive_util::BitWidth(type) / 8);
}

int64_t StorageAlignment(PrimitiveType type) { return std::min<int64_t>(8, StorageBytes(type)); }

Value* FromStorage(Value* stored, PrimitiveType type, const Target& target, IRBuilderBase& b) {
  if (type == xla::PRED) return b.CreateICmpNE(stored, b.getInt8(0));
  if (IsNarrowFloat(type)) return DecodeNarrowFloat(stored, type, target.has_fp16, b);
  // What hosts leave in the upper bits of a sub-byte number is not specified.
  return IsSubByte(type) ? Normalize(stored, type, target, b) : stored;
}

Value* ToStorage(Value* value, PrimitiveType type, const Target& target, IRBuilderBase& b) {
  if (type == xla::PRED) return b.CreateZExt(value, b.getInt8Ty());
  if (type == xla::BF16) {
    Value* bits = b.CreateBitCast(value, b.getInt32Ty());
    return b.CreateTrunc(b.CreateLShr(bits, 16), b.getInt16Ty());
  }
  if (IsNarrowFloat(type)) return EncodeNarrowFloat(value, type, target.has_fp16, b);
  if (IsSubByte(type)) return b.CreateAnd(value, b.getInt8((1 << IntegerBits(type)) - 1));
  return value;
}

Value* Normalize(Value* value, PrimitiveType type, const Target& target, IRBuilderBase& b) {
  if (IsNarrowFloat(type)) return RoundToNarrowFloat(value, type, target.has_fp16, b);
  if (!IsSubByte(type)) return value;
  const int64_t bits = IntegerBits(type);
  if (!IsSigned(type)) return b.CreateAnd(value, b.getInt8((1 << bits) - 1));
  return b.CreateAShr(b.CreateShl(value, 8 - bits), 8 - bits);
}

absl::StatusOr<Value*> EmitConvert(Value* value, PrimitiveType from, PrimitiveType to,
                                   const Target& target, IRBuilderBase& b) {
  if (from == to) return value;
  if (!IsComplexType(from) && !IsComplexType(to)) return ConvertReal(value, from, to, target, b);
  Value* re = value;
  Value* im = nullptr;
  if (IsComplexType(from)) {
    re = b.CreateExtractValue(value, 0);
    im = b.CreateExtractValue(value, 1);
  }
  const PrimitiveType from_part = ComponentType(from);
  const PrimitiveType to_part = ComponentType(to);
  if (to == xla::PRED) {
    Value* zero = llvm::ConstantFP::get(re->getType(), 0);
    return b.CreateOr(b.CreateFCmpUNE(re, zero), b.CreateFCmpUNE(im, zero));
  }
  absl::StatusOr<Value*> new_re = ConvertReal(re, from_part, to_part, target, b);
  if (!new_re.ok() || !IsComplexType(to)) return new_re;
  llvm::Type* complex = ComputeType(to, b.getContext());
  Value* new_im = llvm::ConstantFP::get(complex->getStructElementType(1), 0);
  if (im) {
    absl::StatusOr<Value*> converted = ConvertReal(im, from_part, to_part, target, b);
    if (!converted.ok()) return converted;
    new_im = *converted;
  }
  Value* result = b.CreateInsertValue(llvm::PoisonValue::get(complex), *new_re, 0);
  return b.CreateInsertValue(result, new_im, 1);
}

}  // namespace onexpu::compiler
