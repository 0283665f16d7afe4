// Sums of many floats, in more digits than their type has: the error of such a sum does not grow
// with its length. Pure functions on the caller's builder.
#ifndef PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_WIDE_SUM_H_
#define PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_WIDE_SUM_H_

#include <cstdint>

#include "llvm/IR/IRBuilder.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {

// A sum of elements of a type. Its values are elements, in compute form, or wide:
//
//   element             wide
//   f32, narrow floats  f64, or {sum, what rounding has lost of it} in f32 on devices without f64
//   f64                 {sum, what rounding has lost of it} in f64
//   c64                 c128 on devices with f64
//   every other one     none
class WideSum {
 public:
  WideSum(xla::PrimitiveType element, const Target& target);

  // Additions from which on wide values pay. The error of fewer is a few units in the last place.
  static constexpr int64_t kMinWideAdditions = 9;

  bool has_wide() const { return kind_ != Kind::kPlain; }
  // The type in which elements are added, and the one in which a wide value is kept in memory: C64
  // and C128 for the pairs.
  xla::PrimitiveType element_type() const { return element_type_; }
  xla::PrimitiveType wide_type() const { return wide_type_; }

  // An element that added to any value gives this one.
  llvm::Value* NegativeZero(llvm::IRBuilderBase& b) const;
  llvm::Value* Widen(llvm::Value* value, llvm::IRBuilderBase& b) const;
  // The sum of two values, wide if one of them is.
  llvm::Value* Add(llvm::Value* lhs, llvm::Value* rhs, llvm::IRBuilderBase& b) const;
  // The value as an element. The sum of narrow floats is left in f32, not rounded.
  llvm::Value* Narrow(llvm::Value* value, llvm::IRBuilderBase& b) const;

 private:
  enum class Kind { kPlain, kDouble, kComplexDouble, kCompensated };

  bool IsWide(llvm::Value* value) const;

  xla::PrimitiveType element_type_;
  xla::PrimitiveType wide_type_;
  Kind kind_ = Kind::kPlain;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_WIDE_SUM_H_
