// Positions in arrays as LLVM values: a multi-dimensional index, and the arithmetic that turns it
// into a place in memory for any layout. Thread-compatible; an IndexMath belongs to one kernel that
// is being written.
#ifndef PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_IR_INDEX_H_
#define PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_IR_INDEX_H_

#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "llvm/IR/IRBuilder.h"
#include "xla/shape.h"

namespace onexpu::compiler {

// One value per logical dimension, all of the kernel's index type. When the index came from a count
// of elements in memory order, that count (always i64) is kept with the shape it counts in, so that
// arrays of one layout need no arithmetic.
class Index {
 public:
  Index() = default;
  explicit Index(std::vector<llvm::Value*> values) : values_(std::move(values)) {}
  Index(std::vector<llvm::Value*> values, llvm::Value* linear, const xla::Shape& shape);

  int64_t size() const { return static_cast<int64_t>(values_.size()); }
  llvm::Value* operator[](int64_t dimension) const { return values_[dimension]; }
  const std::vector<llvm::Value*>& values() const { return values_; }

  // The count of elements in memory order when it is known for arrays of `shape`'s dimensions and
  // layout, else null.
  llvm::Value* LinearFor(const xla::Shape& shape) const;

 private:
  std::vector<llvm::Value*> values_;
  llvm::Value* linear_ = nullptr;
  std::vector<int64_t> dimensions_;
  std::vector<int64_t> minor_to_major_;
};

// Arithmetic on indices. Indices are never negative and never overflow, and the instructions say
// so; what was already computed in an enclosing scope is not computed again.
class IndexMath {
 public:
  // `wide_places`: places in memory are computed in 64 bits from the first addition on, whatever
  // the type of indices. A CPU's compiler sees only then that neighbouring work-items read
  // neighbouring elements: LLVM's optimiser loses the knowledge that a sum of 32 bits does not wrap
  // (column sums in tiles: 10 instead of 5 ms, measured). A GPU computes them faster in 32.
  IndexMath(llvm::IRBuilder<>& builder, llvm::IntegerType* type, bool wide_places)
      : builder_(builder), type_(type), wide_places_(wide_places) {
    PushScope();
  }

  llvm::IntegerType* type() const { return type_; }
  llvm::Value* Constant(int64_t value) const { return llvm::ConstantInt::getSigned(type_, value); }

  llvm::Value* Add(llvm::Value* lhs, llvm::Value* rhs);
  llvm::Value* Sub(llvm::Value* lhs, llvm::Value* rhs);  // may be negative
  llvm::Value* Mul(llvm::Value* lhs, llvm::Value* rhs);
  llvm::Value* Div(llvm::Value* lhs, llvm::Value* rhs);  // both are not negative
  llvm::Value* Rem(llvm::Value* lhs, llvm::Value* rhs);
  llvm::Value* Add(llvm::Value* lhs, int64_t rhs) { return Add(lhs, Constant(rhs)); }
  llvm::Value* Mul(llvm::Value* lhs, int64_t rhs) { return Mul(lhs, Constant(rhs)); }
  llvm::Value* Div(llvm::Value* lhs, int64_t rhs) { return Div(lhs, Constant(rhs)); }
  llvm::Value* Rem(llvm::Value* lhs, int64_t rhs) { return Rem(lhs, Constant(rhs)); }

  llvm::Value* Minimum(llvm::Value* value, int64_t limit);

  // An index as i64.
  llvm::Value* Widen(llvm::Value* value);

  // Any integer as the index type: sign-extended or cut.
  llvm::Value* ToIndexType(llvm::Value* value);

  // An integer that a program computed, as an index: clamped into 0 to `limit`.
  llvm::Value* ClampStart(llvm::Value* value, bool is_signed, int64_t limit);

  // The element that is `linear`-th (i64 or the index type) in memory order of `shape`.
  Index Delinearize(llvm::Value* linear, const xla::Shape& shape);
  // The element in `column` of the `row`-th row (each i64 or the index type). Rows lie along the
  // most minor dimension of `shape`, which has dimensions and a layout.
  Index InRow(llvm::Value* row, llvm::Value* column, const xla::Shape& shape);
  // The count of elements (i64) before `index` in memory order of `shape`.
  llvm::Value* Linearize(const Index& index, const xla::Shape& shape);
  // The same with dimensions in row-major order, whatever the layout.
  Index DelinearizeRowMajor(llvm::Value* linear, absl::Span<const int64_t> dimensions);
  llvm::Value* LinearizeRowMajor(absl::Span<llvm::Value* const> index,
                                 absl::Span<const int64_t> dimensions);

  // Values found inside a scope (a loop body, a branch) are forgotten at its end, for they do not
  // reach beyond it.
  void PushScope() { scopes_.emplace_back(); }
  void PopScope() { scopes_.pop_back(); }

 private:
  // A key holds everything that determines the value. Whatever is not an operand distinguishes
  // operations: a start index of -1 clamps to 0 if it is signed, and to the limit if it is not.
  enum class Operation {
    kAdd,
    kSub,
    kMul,
    kDiv,
    kRem,
    kProduct,  // with a reciprocal's multiplier
    kShift,
    kRemainder,  // of a quotient by a reciprocal
    kConvert,
    kWiden,
    kClampSigned,
    kClampUnsigned,
  };
  using Key = std::tuple<Operation, llvm::Value*, llvm::Value*>;

  // The quotient of what is smaller than `limit`.
  llvm::Value* Quotient(llvm::Value* value, int64_t divisor, int64_t limit);
  // Takes the position along a dimension of `extent` off `rest`, which is smaller than `limit`;
  // both are then those of the dimensions that are left.
  llvm::Value* TakeOff(llvm::Value*& rest, int64_t extent, int64_t& limit);

  llvm::Value* Find(const Key& key) const;
  llvm::Value* Remember(const Key& key, llvm::Value* value);

  llvm::IRBuilder<>& builder_;
  llvm::IntegerType* type_;
  const bool wide_places_;
  std::vector<absl::flat_hash_map<Key, llvm::Value*>> scopes_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_IR_INDEX_H_
