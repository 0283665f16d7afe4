#include "pjrt_core/compiler/codegen/elemental/wide_sum.h"

#include <utility>

#include "llvm/IR/Constants.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/math/narrow_float.h"
#include "pjrt_core/compiler/codegen/math/real_value.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;

Value* Pair(Value* first, Value* second, llvm::IRBuilderBase& b) {
  llvm::Type* type = llvm::StructType::get(first->getType(), second->getType());
  return b.CreateInsertValue(b.CreateInsertValue(llvm::PoisonValue::get(type), first, 0), second,
                             1);
}

Real First(Value* pair, llvm::IRBuilderBase& b) { return {b.CreateExtractValue(pair, 0), b}; }
Real Second(Value* pair, llvm::IRBuilderBase& b) { return {b.CreateExtractValue(pair, 1), b}; }

// The rounded sum of two, and `lost` plus what rounding loses of it: exact (Knuth's two-sum),
// whichever is larger.
Value* AddCompensated(const Real& x, const Real& y, const Real& lost, llvm::IRBuilderBase& b) {
  const Real sum = x + y;
  const Real of_y = sum - x;
  const Real error = (x - (sum - of_y)) + (y - of_y);
  return Pair(sum.value(), (lost + error).value(), b);
}

}  // namespace

WideSum::WideSum(xla::PrimitiveType element, const Target& target)
    : element_type_(IsNarrowFloat(element) ? xla::F32 : element), wide_type_(element_type_) {
  if (element_type_ == xla::F32) {
    kind_ = target.has_fp64 ? Kind::kDouble : Kind::kCompensated;
    wide_type_ = target.has_fp64 ? xla::F64 : xla::C64;
  } else if (element_type_ == xla::F64) {
    kind_ = Kind::kCompensated;
    wide_type_ = xla::C128;
  } else if (element_type_ == xla::C64 && target.has_fp64) {
    kind_ = Kind::kComplexDouble;
    wide_type_ = xla::C128;
  }
}

bool WideSum::IsWide(Value* value) const {
  return has_wide() && value->getType() == ComputeType(wide_type_, value->getContext());
}

Value* WideSum::NegativeZero(llvm::IRBuilderBase& b) const {
  llvm::Type* type = ComputeType(element_type_, b.getContext());
  if (!type->isStructTy()) return llvm::ConstantFP::getNegativeZero(type);
  Value* part = llvm::ConstantFP::getNegativeZero(type->getStructElementType(0));
  return Pair(part, part, b);
}

Value* WideSum::Widen(Value* value, llvm::IRBuilderBase& b) const {
  if (!has_wide() || IsWide(value)) return value;
  switch (kind_) {
    case Kind::kPlain:
      return value;
    case Kind::kDouble:
      return b.CreateFPExt(value, b.getDoubleTy());
    case Kind::kComplexDouble:
      return Pair(b.CreateFPExt(b.CreateExtractValue(value, 0), b.getDoubleTy()),
                  b.CreateFPExt(b.CreateExtractValue(value, 1), b.getDoubleTy()), b);
    case Kind::kCompensated:
      return Pair(value, llvm::ConstantFP::getZero(value->getType()), b);
  }
  return nullptr;
}

Value* WideSum::Add(Value* lhs, Value* rhs, llvm::IRBuilderBase& b) const {
  if (!IsWide(lhs) && !IsWide(rhs)) return EmitAdd(lhs, rhs, b);
  if (kind_ != Kind::kCompensated) return EmitAdd(Widen(lhs, b), Widen(rhs, b), b);
  if (!IsWide(lhs)) std::swap(lhs, rhs);
  const Real lost = Second(lhs, b);
  if (!IsWide(rhs)) return AddCompensated(First(lhs, b), Real(rhs, b), lost, b);
  return AddCompensated(First(lhs, b), First(rhs, b), lost + Second(rhs, b), b);
}

Value* WideSum::Narrow(Value* value, llvm::IRBuilderBase& b) const {
  if (!IsWide(value)) return value;
  switch (kind_) {
    case Kind::kPlain:
      return value;
    case Kind::kDouble:
      return b.CreateFPTrunc(value, b.getFloatTy());
    case Kind::kComplexDouble:
      return Pair(b.CreateFPTrunc(b.CreateExtractValue(value, 0), b.getFloatTy()),
                  b.CreateFPTrunc(b.CreateExtractValue(value, 1), b.getFloatTy()), b);
    case Kind::kCompensated: {
      // What is lost of an infinite sum is NaN.
      const Real sum = First(value, b);
      return Select(IsFinite(sum), sum + Second(value, b), sum).value();
    }
  }
  return nullptr;
}

}  // namespace onexpu::compiler
