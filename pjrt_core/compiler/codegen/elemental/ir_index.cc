#include "pjrt_core/compiler/codegen/elemental/ir_index.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "absl/algorithm/container.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/MathExtras.h"
#include "xla/util.h"

namespace onexpu::compiler {
namespace {

std::vector<int64_t> MinorToMajor(const xla::Shape& shape) {
  if (shape.has_layout())
    return {shape.layout().minor_to_major().begin(), shape.layout().minor_to_major().end()};
  std::vector<int64_t> order;
  for (int64_t i = shape.dimensions().size() - 1; i >= 0; --i) order.push_back(i);
  return order;
}

const llvm::ConstantInt* AsConstant(llvm::Value* value) {
  return llvm::dyn_cast<llvm::ConstantInt>(value);
}

bool IsConstant(llvm::Value* value, int64_t wanted) {
  const llvm::ConstantInt* constant = AsConstant(value);
  return constant && constant->getSExtValue() == wanted;
}

// The number of a work-item or group (i64) that `value` was cut from, or null. Extended again, its
// cut form would hide from a CPU's compiler that neighbours have neighbouring numbers.
llvm::Value* WorkItemNumber(llvm::Value* value) {
  auto* cut = llvm::dyn_cast<llvm::TruncInst>(value);
  auto* call = cut == nullptr ? nullptr : llvm::dyn_cast<llvm::CallInst>(cut->getOperand(0));
  if (call == nullptr || call->getCalledFunction() == nullptr) return nullptr;
  const llvm::StringRef name = call->getCalledFunction()->getName();
  const bool is_number =
      name == "_Z13get_global_idj" || name == "_Z12get_local_idj" || name == "_Z12get_group_idj";
  return is_number ? call : nullptr;
}

// floor(x / divisor) is x * multiplier >> shift, with no product beyond 32 bits.
struct Reciprocal {
  uint32_t multiplier;
  int shift;
};

// The smallest one that is exact for each x below `limit`; nothing for powers of two, which need
// none, and where no multiplier fits. T. Granlund and P. Montgomery, "Division by Invariant
// Integers using Multiplication", 1994: with multiplier = ceil(2^shift / divisor), its error
// multiplier * divisor - 2^shift times x has to stay below 2^shift.
std::optional<Reciprocal> ReciprocalOf(int64_t divisor, int64_t limit) {
  constexpr int64_t kMaxDividend = int64_t{1} << 31;  // of 32 bits
  if (llvm::isPowerOf2_64(divisor) || limit < 1 || limit > kMaxDividend) return std::nullopt;
  const uint64_t greatest = limit - 1;
  for (int shift = 1; shift < 32; ++shift) {
    const uint64_t power = uint64_t{1} << shift;
    const uint64_t multiplier = xla::CeilOfRatio<uint64_t>(power, divisor);
    if (greatest * multiplier > std::numeric_limits<uint32_t>::max()) break;
    if (greatest * (multiplier * divisor - power) < power) {
      return Reciprocal{static_cast<uint32_t>(multiplier), shift};
    }
  }
  return std::nullopt;
}

}  // namespace

Index::Index(std::vector<llvm::Value*> values, llvm::Value* linear, const xla::Shape& shape)
    : values_(std::move(values)),
      linear_(linear),
      dimensions_(shape.dimensions().begin(), shape.dimensions().end()),
      minor_to_major_(MinorToMajor(shape)) {}

llvm::Value* Index::LinearFor(const xla::Shape& shape) const {
  if (!linear_ || !absl::c_equal(dimensions_, shape.dimensions())) return nullptr;
  return minor_to_major_ == MinorToMajor(shape) ? linear_ : nullptr;
}

llvm::Value* IndexMath::Find(const Key& key) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    auto found = scope->find(key);
    if (found != scope->end()) return found->second;
  }
  return nullptr;
}

llvm::Value* IndexMath::Remember(const Key& key, llvm::Value* value) {
  scopes_.back()[key] = value;
  return value;
}

llvm::Value* IndexMath::Add(llvm::Value* lhs, llvm::Value* rhs) {
  if (IsConstant(lhs, 0)) return rhs;
  if (IsConstant(rhs, 0)) return lhs;
  const Key key{Operation::kAdd, lhs, rhs};
  if (llvm::Value* found = Find(key)) return found;
  return Remember(key, builder_.CreateNSWAdd(lhs, rhs));
}

llvm::Value* IndexMath::Sub(llvm::Value* lhs, llvm::Value* rhs) {
  if (IsConstant(rhs, 0)) return lhs;
  const Key key{Operation::kSub, lhs, rhs};
  if (llvm::Value* found = Find(key)) return found;
  return Remember(key, builder_.CreateNSWSub(lhs, rhs));
}

llvm::Value* IndexMath::Mul(llvm::Value* lhs, llvm::Value* rhs) {
  if (IsConstant(lhs, 1)) return rhs;
  if (IsConstant(rhs, 1)) return lhs;
  const Key key{Operation::kMul, lhs, rhs};
  if (llvm::Value* found = Find(key)) return found;
  return Remember(key, builder_.CreateNSWMul(lhs, rhs));
}

llvm::Value* IndexMath::Div(llvm::Value* lhs, llvm::Value* rhs) {
  if (IsConstant(rhs, 1)) return lhs;
  const Key key{Operation::kDiv, lhs, rhs};
  if (llvm::Value* found = Find(key)) return found;
  return Remember(key, builder_.CreateUDiv(lhs, rhs));
}

llvm::Value* IndexMath::Rem(llvm::Value* lhs, llvm::Value* rhs) {
  if (IsConstant(rhs, 1)) return llvm::ConstantInt::get(lhs->getType(), 0);
  const Key key{Operation::kRem, lhs, rhs};
  if (llvm::Value* found = Find(key)) return found;
  return Remember(key, builder_.CreateURem(lhs, rhs));
}

// A CPU's compiler calls a function to divide a vector of integers by a constant.
llvm::Value* IndexMath::Quotient(llvm::Value* value, int64_t divisor, int64_t limit) {
  const std::optional<Reciprocal> reciprocal =
      type_->getBitWidth() == 32 ? ReciprocalOf(divisor, limit) : std::nullopt;
  if (!reciprocal.has_value()) return Div(value, divisor);
  // The keys include what depends on the limit: a reciprocal for a lower limit is not exact for
  // this one.
  const Key product_key{Operation::kProduct, value,
                        llvm::ConstantInt::get(type_, reciprocal->multiplier)};
  llvm::Value* product = Find(product_key);
  if (product == nullptr) {
    product = Remember(product_key, builder_.CreateNUWMul(value, std::get<2>(product_key)));
  }
  const Key key{Operation::kShift, product, Constant(reciprocal->shift)};
  if (llvm::Value* found = Find(key)) return found;
  return Remember(key, builder_.CreateLShr(product, reciprocal->shift));
}

llvm::Value* IndexMath::TakeOff(llvm::Value*& rest, int64_t extent, int64_t& limit) {
  llvm::Value* value = rest;
  rest = Quotient(value, extent, limit);
  limit /= std::max<int64_t>(extent, 1);  // of nothing no element is asked for
  if (llvm::isPowerOf2_64(extent)) return Rem(value, extent);
  // Not keyed by `rest`: LLVM has one constant for equal quotients by different extents.
  llvm::Value* multiple = Mul(rest, extent);
  const Key key{Operation::kRemainder, value, multiple};
  if (llvm::Value* found = Find(key)) return found;
  return Remember(key, builder_.CreateSub(value, multiple, "", /*HasNUW=*/true, /*HasNSW=*/true));
}

llvm::Value* IndexMath::Minimum(llvm::Value* value, int64_t limit) {
  llvm::Value* bound = Constant(limit);
  return builder_.CreateSelect(builder_.CreateICmpSLT(value, bound), value, bound);
}

llvm::Value* IndexMath::ToIndexType(llvm::Value* value) {
  if (value->getType() == type_) return value;
  const Key key{Operation::kConvert, value, nullptr};
  if (llvm::Value* found = Find(key)) return found;
  return Remember(key, builder_.CreateSExtOrTrunc(value, type_));
}

llvm::Value* IndexMath::ClampStart(llvm::Value* value, bool is_signed, int64_t limit) {
  if (limit <= 0) return Constant(0);
  const Key key{is_signed ? Operation::kClampSigned : Operation::kClampUnsigned, value,
                Constant(limit)};
  if (llvm::Value* found = Find(key)) return found;
  llvm::Value* wide = is_signed ? builder_.CreateSExt(value, builder_.getInt64Ty())
                                : builder_.CreateZExt(value, builder_.getInt64Ty());
  llvm::Value* zero = builder_.getInt64(0);
  llvm::Value* end = builder_.getInt64(limit);
  if (is_signed) wide = builder_.CreateSelect(builder_.CreateICmpSLT(wide, zero), zero, wide);
  wide = builder_.CreateSelect(builder_.CreateICmpUGT(wide, end), end, wide);
  return Remember(key, builder_.CreateTrunc(wide, type_));
}

Index IndexMath::Delinearize(llvm::Value* linear, const xla::Shape& shape) {
  llvm::Value* rest = ToIndexType(linear);
  std::vector<llvm::Value*> values(shape.dimensions().size());
  const std::vector<int64_t> order = MinorToMajor(shape);
  // The most major dimension with an extent above 1 needs no remainder: the quotient is below it.
  int64_t last = -1;
  int64_t limit = 1;
  for (int64_t dimension : order) {
    if (shape.dimensions(dimension) != 1) last = dimension;
    limit *= shape.dimensions(dimension);
  }
  for (int64_t dimension : order) {
    const int64_t extent = shape.dimensions(dimension);
    if (extent == 1) {
      values[dimension] = Constant(0);
    } else if (dimension == last) {
      values[dimension] = rest;
    } else {
      values[dimension] = TakeOff(rest, extent, limit);
    }
  }
  llvm::Value* wide = linear->getType() == builder_.getInt64Ty()
                          ? linear
                          : builder_.CreateSExt(linear, builder_.getInt64Ty());
  return Index(std::move(values), wide, shape);
}

Index IndexMath::InRow(llvm::Value* row, llvm::Value* column, const xla::Shape& shape) {
  const int64_t minor = shape.layout().minor_to_major(0);
  xla::Shape row_shape = shape;
  row_shape.set_dimensions(minor, 1);
  std::vector<llvm::Value*> values = Delinearize(row, row_shape).values();
  values[minor] = ToIndexType(column);
  llvm::Value* start =
      builder_.CreateNSWMul(Widen(row), builder_.getInt64(shape.dimensions(minor)));
  return Index(std::move(values), builder_.CreateNSWAdd(start, Widen(column)), shape);
}

llvm::Value* IndexMath::Linearize(const Index& index, const xla::Shape& shape) {
  if (llvm::Value* linear = index.LinearFor(shape)) return linear;
  llvm::IntegerType* type = wide_places_ ? builder_.getInt64Ty() : type_;
  llvm::Value* result = llvm::ConstantInt::get(type, 0);
  int64_t stride = 1;
  for (int64_t dimension : MinorToMajor(shape)) {
    const int64_t extent = shape.dimensions(dimension);
    if (extent != 1) {
      llvm::Value* component = wide_places_ ? Widen(index[dimension]) : index[dimension];
      result = Add(Mul(component, llvm::ConstantInt::getSigned(type, stride)), result);
    }
    stride *= std::max<int64_t>(extent, 1);
  }
  return Widen(result);
}

llvm::Value* IndexMath::Widen(llvm::Value* value) {
  if (value->getType() == builder_.getInt64Ty()) return value;
  if (llvm::Value* number = WorkItemNumber(value)) return number;
  const Key key{Operation::kWiden, value, nullptr};
  if (llvm::Value* found = Find(key)) return found;
  return Remember(key, builder_.CreateSExt(value, builder_.getInt64Ty()));
}

Index IndexMath::DelinearizeRowMajor(llvm::Value* linear, absl::Span<const int64_t> dimensions) {
  llvm::Value* rest = ToIndexType(linear);
  std::vector<llvm::Value*> values(dimensions.size());
  int64_t limit = xla::Product(dimensions);
  for (int64_t i = dimensions.size() - 1; i >= 0; --i) {
    if (dimensions[i] == 1) {
      values[i] = Constant(0);
    } else {
      values[i] = i == 0 ? rest : TakeOff(rest, dimensions[i], limit);
    }
  }
  return Index(std::move(values));
}

llvm::Value* IndexMath::LinearizeRowMajor(absl::Span<llvm::Value* const> index,
                                          absl::Span<const int64_t> dimensions) {
  llvm::Value* result = Constant(0);
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i] == 1) continue;
    result = Add(Mul(result, dimensions[i]), index[i]);
  }
  return result;
}

}  // namespace onexpu::compiler
