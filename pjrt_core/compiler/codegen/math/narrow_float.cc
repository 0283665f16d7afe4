#include "pjrt_core/compiler/codegen/math/narrow_float.h"

#include <cmath>
#include <cstdint>

#include "llvm/IR/Constants.h"

namespace onexpu::compiler {
namespace {

using llvm::IRBuilderBase;
using llvm::Value;

enum class Specials {
  kIeee,             // infinities and NaNs in the greatest exponent
  kNanAllOnes,       // no infinity; NaN is the greatest magnitude
  kNanNegativeZero,  // no infinity, no negative zero; NaN is its pattern
  kNone,             // neither
};

struct Format {
  int bits;
  int mantissa;
  int bias;
  Specials specials;

  int magnitude_bits() const { return bits - 1; }
  int sign_bit() const { return 1 << (bits - 1); }
  int magnitude_mask() const { return sign_bit() - 1; }
  int nan() const {
    switch (specials) {
      case Specials::kIeee:
        return infinity() | (1 << (mantissa - 1));
      case Specials::kNanAllOnes:
        return magnitude_mask();
      case Specials::kNanNegativeZero:
      case Specials::kNone:
        return sign_bit();
    }
    return 0;
  }
  int infinity() const { return magnitude_mask() >> mantissa << mantissa; }
  int max_finite() const {
    switch (specials) {
      case Specials::kIeee:
        return infinity() - 1;
      case Specials::kNanAllOnes:
        return magnitude_mask() - 1;
      case Specials::kNanNegativeZero:
      case Specials::kNone:
        return magnitude_mask();
    }
    return 0;
  }
  // The greatest finite value as f32's bits.
  uint32_t max_finite_bits() const {
    const uint32_t exponent = (max_finite() >> mantissa) - bias + 127;
    const uint32_t fraction = max_finite() & ((1 << mantissa) - 1);
    return exponent << 23 | fraction << (23 - mantissa);
  }
  int overflow() const {
    if (specials == Specials::kIeee) return infinity();
    return specials == Specials::kNone ? max_finite() : nan();
  }
};

Format FormatOf(xla::PrimitiveType type) {
  switch (type) {
    case xla::F16:
      return {16, 10, 15, Specials::kIeee};
    case xla::F8E5M2:
      return {8, 2, 15, Specials::kIeee};
    case xla::F8E4M3:
      return {8, 3, 7, Specials::kIeee};
    case xla::F8E3M4:
      return {8, 4, 3, Specials::kIeee};
    case xla::F8E4M3FN:
      return {8, 3, 7, Specials::kNanAllOnes};
    case xla::F8E4M3B11FNUZ:
      return {8, 3, 11, Specials::kNanNegativeZero};
    case xla::F8E5M2FNUZ:
      return {8, 2, 16, Specials::kNanNegativeZero};
    case xla::F8E4M3FNUZ:
      return {8, 3, 8, Specials::kNanNegativeZero};
    case xla::F4E2M1FN:
      return {4, 1, 1, Specials::kNone};
    default:
      return {16, 7, 127, Specials::kIeee};  // bf16
  }
}

constexpr int kMantissa32 = 23;
constexpr int kBias32 = 127;

Value* AsFloat(Value* bits, IRBuilderBase& b) { return b.CreateBitCast(bits, b.getFloatTy()); }
Value* AsBits(Value* value, IRBuilderBase& b) { return b.CreateBitCast(value, b.getInt32Ty()); }
Value* Nan(IRBuilderBase& b) { return llvm::ConstantFP::getNaN(b.getFloatTy()); }
Value* IsNan(Value* value, IRBuilderBase& b) { return b.CreateFCmpUNO(value, value); }

// Only an exponent of 8 bits: 2^(bits - 127), 255 is NaN.
Value* DecodeE8M0(Value* bits, IRBuilderBase& b) {
  Value* wide = b.CreateZExt(bits, b.getInt32Ty());
  Value* value = b.CreateSelect(b.CreateICmpEQ(wide, b.getInt32(0)),
                                b.getInt32(1 << (kMantissa32 - 1)), b.CreateShl(wide, kMantissa32));
  return b.CreateSelect(b.CreateICmpEQ(wide, b.getInt32(255)), Nan(b), AsFloat(value, b));
}

Value* EncodeE8M0(Value* value, IRBuilderBase& b) {
  Value* bits = AsBits(value, b);
  // To nearest, ties to the greater power. Among f32's subnormal numbers, where 2^-127 is, hosts
  // (ml_dtypes, XLA:CPU) take the next power for whatever exceeds it, and so do we.
  Value* rounded = b.CreateLShr(b.CreateAdd(bits, b.getInt32(1 << (kMantissa32 - 1))), kMantissa32);
  Value* smallest = b.getInt32(1 << (kMantissa32 - 1));
  Value* subnormal = b.CreateZExt(b.CreateICmpUGT(bits, smallest), b.getInt32Ty());
  rounded = b.CreateSelect(b.CreateICmpULT(bits, b.getInt32(1 << kMantissa32)), subnormal, rounded);
  Value* bad =
      b.CreateOr(IsNan(value, b), b.CreateFCmpOLE(value, llvm::ConstantFP::get(b.getFloatTy(), 0)));
  return b.CreateTrunc(b.CreateSelect(bad, b.getInt32(255), rounded), b.getInt8Ty());
}

Value* DecodeBf16(Value* bits, IRBuilderBase& b) {
  return AsFloat(b.CreateShl(b.CreateZExt(bits, b.getInt32Ty()), 16), b);
}

// The bits of `value` rounded to bf16, still in the upper half of an i32.
Value* RoundBf16Bits(Value* value, IRBuilderBase& b) {
  Value* bits = AsBits(value, b);
  Value* even = b.CreateAnd(b.CreateLShr(bits, 16), b.getInt32(1));
  Value* rounded = b.CreateAdd(b.CreateAdd(bits, b.getInt32(0x7fff)), even);
  Value* quiet = b.CreateOr(bits, b.getInt32(0x400000));
  return b.CreateAnd(b.CreateSelect(IsNan(value, b), quiet, rounded), b.getInt32(0xffff0000));
}

}  // namespace

bool IsNarrowFloat(xla::PrimitiveType type) {
  switch (type) {
    case xla::F16:
    case xla::BF16:
    case xla::F8E5M2:
    case xla::F8E4M3:
    case xla::F8E3M4:
    case xla::F8E4M3FN:
    case xla::F8E4M3B11FNUZ:
    case xla::F8E5M2FNUZ:
    case xla::F8E4M3FNUZ:
    case xla::F4E2M1FN:
    case xla::F8E8M0FNU:
      return true;
    default:
      return false;
  }
}

Value* DecodeNarrowFloat(Value* bits, xla::PrimitiveType type, bool has_fp16, IRBuilderBase& b) {
  if (type == xla::BF16) return DecodeBf16(bits, b);
  if (type == xla::F8E8M0FNU) return DecodeE8M0(bits, b);
  if (type == xla::F16 && has_fp16)
    return b.CreateFPExt(b.CreateBitCast(bits, b.getHalfTy()), b.getFloatTy());
  const Format format = FormatOf(type);
  Value* wide = b.CreateZExt(bits, b.getInt32Ty());
  Value* magnitude = b.CreateAnd(wide, b.getInt32(format.magnitude_mask()));
  Value* sign = b.CreateShl(b.CreateAnd(wide, b.getInt32(format.sign_bit())), 32 - format.bits);
  Value* normal = b.CreateAdd(b.CreateShl(magnitude, kMantissa32 - format.mantissa),
                              b.getInt32((kBias32 - format.bias) << kMantissa32));
  // Subnormals are small integers times the smallest step.
  Value* step =
      llvm::ConstantFP::get(b.getFloatTy(), std::ldexp(1.0, 1 - format.bias - format.mantissa));
  Value* subnormal = AsBits(b.CreateFMul(b.CreateUIToFP(magnitude, b.getFloatTy()), step), b);
  Value* result = b.CreateSelect(b.CreateICmpULT(magnitude, b.getInt32(1 << format.mantissa)),
                                 subnormal, normal);
  switch (format.specials) {
    case Specials::kIeee: {
      // The greatest exponent becomes f32's, the mantissa stays: infinity and NaN alike.
      Value* special =
          b.CreateOr(b.CreateShl(magnitude, kMantissa32 - format.mantissa), b.getInt32(0x7f800000));
      result = b.CreateSelect(b.CreateICmpUGE(magnitude, b.getInt32(format.infinity())), special,
                              result);
      break;
    }
    case Specials::kNanAllOnes:
      result = b.CreateSelect(b.CreateICmpEQ(magnitude, b.getInt32(format.nan())),
                              b.getInt32(0x7fc00000), result);
      break;
    case Specials::kNanNegativeZero:
      result = b.CreateSelect(b.CreateICmpEQ(wide, b.getInt32(format.nan())),
                              b.getInt32(0x7fc00000), result);
      break;
    case Specials::kNone:
      break;
  }
  return AsFloat(b.CreateOr(result, sign), b);
}

Value* EncodeNarrowFloat(Value* value, xla::PrimitiveType type, bool has_fp16, IRBuilderBase& b) {
  if (type == xla::BF16)
    return b.CreateTrunc(b.CreateLShr(RoundBf16Bits(value, b), 16), b.getInt16Ty());
  if (type == xla::F8E8M0FNU) return EncodeE8M0(value, b);
  if (type == xla::F16 && has_fp16)
    return b.CreateBitCast(b.CreateFPTrunc(value, b.getHalfTy()), b.getInt16Ty());
  const Format format = FormatOf(type);
  Value* bits = AsBits(value, b);
  Value* magnitude = b.CreateAnd(bits, b.getInt32(0x7fffffff));
  Value* sign = b.CreateAnd(b.CreateLShr(bits, 32 - format.bits), b.getInt32(format.sign_bit()));
  const int dropped = kMantissa32 - format.mantissa;

  Value* even = b.CreateAnd(b.CreateLShr(magnitude, dropped), b.getInt32(1));
  Value* rounded = b.CreateAdd(b.CreateAdd(magnitude, b.getInt32((1 << (dropped - 1)) - 1)), even);
  Value* normal = b.CreateSub(b.CreateLShr(rounded, dropped),
                              b.getInt32((kBias32 - format.bias) << format.mantissa));
  normal = b.CreateSelect(b.CreateICmpSGT(normal, b.getInt32(format.max_finite())),
                          b.getInt32(format.overflow()), normal);
  // Adding a power of two whose last place is the format's smallest step makes the addition do the
  // rounding.
  Value* power = llvm::ConstantFP::get(
      b.getFloatTy(), std::ldexp(1.0, 1 - format.bias - format.mantissa + kMantissa32));
  Value* subnormal =
      b.CreateSub(AsBits(b.CreateFAdd(AsFloat(magnitude, b), power), b), AsBits(power, b));
  Value* is_subnormal =
      b.CreateICmpULT(magnitude, b.getInt32((kBias32 - format.bias + 1) << kMantissa32));
  Value* result = b.CreateSelect(is_subnormal, subnormal, normal);
  result = b.CreateSelect(IsNan(value, b), b.getInt32(format.nan()), result);
  if (format.specials == Specials::kNanNegativeZero) {
    sign = b.CreateSelect(b.CreateICmpEQ(result, b.getInt32(0)), b.getInt32(0), sign);
  }
  return b.CreateTrunc(b.CreateOr(result, sign),
                       format.bits == 16 ? b.getInt16Ty() : b.getInt8Ty());
}

Value* RoundToNarrowFloat(Value* value, xla::PrimitiveType type, bool has_fp16, IRBuilderBase& b) {
  if (type == xla::BF16) return AsFloat(RoundBf16Bits(value, b), b);
  if (type == xla::F8E8M0FNU || (type == xla::F16 && has_fp16)) {
    return DecodeNarrowFloat(EncodeNarrowFloat(value, type, has_fp16, b), type, has_fp16, b);
  }
  const Format format = FormatOf(type);
  Value* bits = AsBits(value, b);
  Value* magnitude = b.CreateAnd(bits, b.getInt32(0x7fffffff));
  Value* sign = b.CreateAnd(bits, b.getInt32(0x80000000));
  const int dropped = kMantissa32 - format.mantissa;
  Value* even = b.CreateAnd(b.CreateLShr(magnitude, dropped), b.getInt32(1));
  Value* rounded = b.CreateAdd(b.CreateAdd(magnitude, b.getInt32((1 << (dropped - 1)) - 1)), even);
  Value* normal = b.CreateAnd(rounded, b.getInt32(~0u << dropped));
  uint32_t overflow = 0x7fc00000;
  if (format.specials == Specials::kIeee) overflow = 0x7f800000;
  if (format.specials == Specials::kNone) overflow = format.max_finite_bits();
  normal = b.CreateSelect(b.CreateICmpUGT(normal, b.getInt32(format.max_finite_bits())),
                          b.getInt32(overflow), normal);
  Value* power = llvm::ConstantFP::get(
      b.getFloatTy(), std::ldexp(1.0, 1 - format.bias - format.mantissa + kMantissa32));
  Value* subnormal = AsBits(b.CreateFSub(b.CreateFAdd(AsFloat(magnitude, b), power), power), b);
  Value* is_subnormal =
      b.CreateICmpULT(magnitude, b.getInt32((kBias32 - format.bias + 1) << kMantissa32));
  Value* result = b.CreateSelect(is_subnormal, subnormal, normal);
  if (format.specials == Specials::kNanNegativeZero) {
    sign = b.CreateSelect(b.CreateICmpEQ(result, b.getInt32(0)), b.getInt32(0), sign);
  }
  result = AsFloat(b.CreateOr(result, sign), b);
  Value* nan = format.specials == Specials::kNone
                   ? llvm::ConstantFP::getNegativeZero(b.getFloatTy())
                   : Nan(b);
  return b.CreateSelect(IsNan(value, b), nan, result);
}

Value* TruncateToOdd(Value* value, IRBuilderBase& b) {
  Value* nearest = b.CreateFPTrunc(value, b.getFloatTy());
  Value* back = b.CreateFPExt(nearest, value->getType());
  Value* bits = AsBits(nearest, b);
  llvm::Type* wide = b.getInt64Ty();
  Value* mask = b.getInt64(0x7fffffffffffffff);
  Value* back_magnitude = b.CreateAnd(b.CreateBitCast(back, wide), mask);
  Value* magnitude = b.CreateAnd(b.CreateBitCast(value, wide), mask);
  Value* too_far = b.CreateZExt(b.CreateICmpUGT(back_magnitude, magnitude), b.getInt32Ty());
  Value* odd = b.CreateOr(b.CreateSub(bits, too_far), b.getInt32(1));
  Value* inexact = b.CreateFCmpONE(back, value);
  return AsFloat(b.CreateSelect(inexact, odd, bits), b);
}

}  // namespace onexpu::compiler
