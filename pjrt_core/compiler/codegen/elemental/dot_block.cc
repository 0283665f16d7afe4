#include "pjrt_core/compiler/codegen/elemental/dot_block.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "pjrt_core/compiler/analysis/dot_queries.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/elemental/excess_precision.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/elemental/wide_sum.h"
#include "pjrt_core/compiler/codegen/math/narrow_float.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;
using xla::HloOpcode;

// What was visited, and whether a dot was allowed there. Each once: a graph has far more paths than
// instructions.
using Visited = absl::flat_hash_set<std::pair<const HloInstruction*, bool>>;

bool FindDotsBelow(const HloInstruction& instruction, const FusionContext& kernel, bool dot_allowed,
                   Visited& visited, std::vector<const HloInstruction*>& dots) {
  // What was refused before has ended the search.
  if (!visited.insert({&instruction, dot_allowed}).second) return true;
  if (kernel.FindArray(instruction) != nullptr) return true;
  if (instruction.opcode() == HloOpcode::kDot) {
    if (dot_allowed) dots.push_back(&instruction);
    return dot_allowed;
  }
  // Of anything but elementwise operations only what holds no dot.
  const bool below = dot_allowed && IsElementwiseOperation(instruction);
  return absl::c_all_of(instruction.operands(), [&](const HloInstruction* operand) {
    return FindDotsBelow(*operand, kernel, below, visited, dots);
  });
}

// Whether neighbours in the last dimension are neighbours in memory.
bool HasRows(const xla::Shape& shape) {
  return !shape.has_layout() || shape.dimensions().empty() ||
         shape.layout().minor_to_major(0) == static_cast<int64_t>(shape.dimensions().size()) - 1;
}

bool HasSumType(xla::PrimitiveType type) {
  return xla::primitive_util::IsFloatingPointType(type) ||
         (xla::primitive_util::IsIntegralType(type) && xla::primitive_util::BitWidth(type) >= 8);
}

// The sums of one dot: one per cell, or several of which each takes a part of the products where
// there are so few cells that an addition would wait for the one before.
class Sums {
 public:
  Sums(FusionContext& kernel, const HloInstruction& dot, size_t cells)
      : kernel_(kernel),
        dot_(dot),
        type_(IsNarrowFloat(dot.shape().element_type()) ? xla::F32 : dot.shape().element_type()),
        llvm_type_(ComputeType(type_, kernel.llvm_context())),
        parts_(cells < kMinIndependentSums ? kMinIndependentSums : 1),
        wide_(type_, kernel.target()) {
    for (size_t i = 0; i < cells * parts_; ++i) {
      slots_.push_back(kernel.Slot(llvm_type_, llvm::Constant::getNullValue(llvm_type_)));
    }
    if (!wide_.has_wide() || LastExtent(dot) <= kRun * parts_) return;
    llvm::Type* wide_type = ComputeType(wide_.wide_type(), kernel.llvm_context());
    for (size_t i = 0; i < cells; ++i) {
      totals_.push_back(kernel.Slot(wide_type, llvm::Constant::getNullValue(wide_type)));
    }
  }

  absl::Status Accumulate(absl::Span<const Index> cells) {
    IndexMath& math = kernel_.index_math();
    std::vector<int64_t> extents = ContractedExtents(dot_);
    if (extents.empty()) return Add(cells, {}, 0);
    const int64_t extent = extents.back();
    const auto add = [&](absl::Span<Value* const> counters, Value* last, int64_t part) {
      std::vector<Value*> position(counters.begin(), counters.end());
      position.back() = last;
      return Add(cells, position, part);
    };
    const auto add_parts = [&](absl::Span<Value* const> counters, Value* first) -> absl::Status {
      for (int64_t part = 0; part < parts_; ++part) {
        TF_RETURN_IF_ERROR(add(counters, math.Add(first, part), part));
      }
      return absl::OkStatus();
    };
    int64_t in_runs = 0;
    if (!totals_.empty()) {
      extents.back() = extent / (kRun * parts_);
      in_runs = extents.back() * kRun * parts_;
      TF_RETURN_IF_ERROR(
          kernel_.ForEach(extents, [&](absl::Span<Value* const> counters) -> absl::Status {
            Value* first = math.Mul(counters.back(), kRun * parts_);
            TF_RETURN_IF_ERROR(kernel_.For(
                math.Constant(0), math.Constant(kRun), math.Constant(1), [&](Value* step) {
                  return add_parts(counters, math.Add(first, math.Mul(step, parts_)));
                }));
            return EndRun(cells.size());
          }));
    }
    extents.back() = (extent - in_runs) / parts_;
    const int64_t whole = in_runs + extents.back() * parts_;
    TF_RETURN_IF_ERROR(kernel_.ForEach(extents, [&](absl::Span<Value* const> counters) {
      return add_parts(counters, math.Add(math.Mul(counters.back(), parts_), in_runs));
    }));
    if (whole == extent) return absl::OkStatus();
    extents.back() = extent - whole;
    return kernel_.ForEach(extents, [&](absl::Span<Value* const> counters) {
      return add(counters, math.Add(counters.back(), whole), 0);
    });
  }

  absl::StatusOr<Value*> Result(size_t cell) {
    Value* sum = Load(cell, 0);
    for (int64_t part = 1; part < parts_; ++part) {
      sum = llvm_type_->isIntegerTy() ? b().CreateAdd(sum, Load(cell, part))
                                      : b().CreateFAdd(sum, Load(cell, part));
    }
    if (!totals_.empty()) sum = wide_.Narrow(wide_.Add(LoadTotal(cell), sum, b()), b());
    if (MayStayWide(dot_)) return sum;
    return Normalize(sum, dot_.shape().element_type(), kernel_.target(), b());
  }

 private:
  // Sums below which the latency of an addition shows.
  static constexpr int64_t kMinIndependentSums = 4;
  // Products that a sum takes in its own type before it joins its cell's wide total.
  static constexpr int64_t kRun = 128;

  static int64_t LastExtent(const HloInstruction& dot) {
    const std::vector<int64_t> extents = ContractedExtents(dot);
    return extents.empty() ? 1 : extents.back();
  }

  Value* LoadTotal(size_t cell) {
    return b().CreateLoad(totals_[cell]->getAllocatedType(), totals_[cell]);
  }

  absl::Status EndRun(size_t cells) {
    for (size_t cell = 0; cell < cells; ++cell) {
      Value* total = LoadTotal(cell);
      for (int64_t part = 0; part < parts_; ++part) {
        total = wide_.Add(total, Load(cell, part), b());
        b().CreateStore(llvm::Constant::getNullValue(llvm_type_), Slot(cell, part));
      }
      b().CreateStore(total, totals_[cell]);
    }
    return absl::OkStatus();
  }

  llvm::AllocaInst* Slot(size_t cell, int64_t part) { return slots_[cell * parts_ + part]; }
  Value* Load(size_t cell, int64_t part) { return b().CreateLoad(llvm_type_, Slot(cell, part)); }

  absl::Status Add(absl::Span<const Index> cells, absl::Span<Value* const> counters, int64_t part) {
    for (size_t cell = 0; cell < cells.size(); ++cell) {
      DotIndices at(dot_, cells[cell].values());
      at.Contract(dot_, counters);
      TF_ASSIGN_OR_RETURN(Value * lhs, Factor(0, std::move(at.lhs)));
      // Both are found again for cells of the same row or column.
      TF_ASSIGN_OR_RETURN(Value * rhs, Factor(1, std::move(at.rhs)));
      b().CreateStore(MultiplyAdd(lhs, rhs, Load(cell, part)), Slot(cell, part));
    }
    return absl::OkStatus();
  }

  llvm::IRBuilder<>& b() { return kernel_.b(); }

  absl::StatusOr<Value*> Factor(int64_t number, std::vector<Value*> index) {
    const HloInstruction& operand = *dot_.operand(number);
    TF_ASSIGN_OR_RETURN(Value * value, kernel_.Element(operand, Index(std::move(index))));
    return EmitConvert(value, operand.shape().element_type(), type_, kernel_.target(), b());
  }

  Value* MultiplyAdd(Value* lhs, Value* rhs, Value* sum) {
    if (llvm_type_->isIntegerTy()) return b().CreateAdd(b().CreateMul(lhs, rhs), sum);
    return b().CreateIntrinsic(llvm::Intrinsic::fma, {llvm_type_}, {lhs, rhs, sum});
  }

  FusionContext& kernel_;
  const HloInstruction& dot_;
  xla::PrimitiveType type_;
  llvm::Type* llvm_type_;
  const int64_t parts_;
  const WideSum wide_;
  std::vector<llvm::AllocaInst*> slots_;   // by cell, then part
  std::vector<llvm::AllocaInst*> totals_;  // by cell, if the sums are long
};

}  // namespace

DotIndices::DotIndices(const HloInstruction& dot, absl::Span<Value* const> result) {
  const xla::DotDimensionNumbers& numbers = dot.dot_dimension_numbers();
  lhs.resize(dot.operand(0)->shape().dimensions().size());
  rhs.resize(dot.operand(1)->shape().dimensions().size());
  // The result's dimensions: batch, then what is left of lhs, then of rhs.
  int64_t next = 0;
  for (int i = 0; i < numbers.lhs_batch_dimensions_size(); ++i, ++next) {
    lhs[numbers.lhs_batch_dimensions(i)] = result[next];
    rhs[numbers.rhs_batch_dimensions(i)] = result[next];
  }
  for (size_t d = 0; d < lhs.size(); ++d) {
    if (lhs[d] == nullptr && !absl::c_linear_search(numbers.lhs_contracting_dimensions(), d))
      lhs[d] = result[next++];
  }
  for (size_t d = 0; d < rhs.size(); ++d) {
    if (rhs[d] == nullptr && !absl::c_linear_search(numbers.rhs_contracting_dimensions(), d))
      rhs[d] = result[next++];
  }
}

void DotIndices::Contract(const HloInstruction& dot, absl::Span<Value* const> counters) {
  const xla::DotDimensionNumbers& numbers = dot.dot_dimension_numbers();
  for (size_t i = 0; i < counters.size(); ++i) {
    lhs[numbers.lhs_contracting_dimensions(i)] = counters[i];
    rhs[numbers.rhs_contracting_dimensions(i)] = counters[i];
  }
}

std::vector<int64_t> ContractedExtents(const HloInstruction& dot) {
  std::vector<int64_t> extents;
  for (int64_t d : dot.dot_dimension_numbers().lhs_contracting_dimensions()) {
    extents.push_back(dot.operand(0)->shape().dimensions(d));
  }
  return extents;
}

std::vector<const HloInstruction*> FindBlockedDots(const FusionContext& kernel,
                                                   absl::Span<const HloInstruction* const> roots) {
  if (!kernel.target().schedules->has_block_dots) return {};
  Visited visited;
  std::vector<const HloInstruction*> dots;
  for (const HloInstruction* root : roots) {
    if (!root->shape().IsArray() || !HasRows(root->shape())) return {};
    if (!FindDotsBelow(*root, kernel, /*dot_allowed=*/true, visited, dots)) return {};
  }
  for (const HloInstruction* dot : dots) {
    const xla::Shape& shape = roots[0]->shape();
    if (!xla::ShapeUtil::SameDimensions(dot->shape(), shape) || shape.dimensions().empty() ||
        shape.dimensions().back() < kMinBlockColumns || !ColumnsOf(*dot).has_value() ||
        !HasSumType(dot->shape().element_type())) {
      return {};
    }
  }
  return dots;
}

absl::Status EmitDotBlock(FusionContext& kernel, absl::Span<const HloInstruction* const> dots,
                          absl::Span<const Index> cells,
                          absl::FunctionRef<absl::Status(const Index&)> store) {
  std::vector<Sums> sums;
  for (const HloInstruction* dot : dots) {
    sums.emplace_back(kernel, *dot, cells.size());
    TF_RETURN_IF_ERROR(sums.back().Accumulate(cells));
  }
  for (size_t cell = 0; cell < cells.size(); ++cell) {
    // A scope of its own: each cell binds the dots to other values.
    TF_RETURN_IF_ERROR(kernel.If(kernel.b().getTrue(), [&]() -> absl::Status {
      for (size_t i = 0; i < dots.size(); ++i) {
        TF_ASSIGN_OR_RETURN(Value * value, sums[i].Result(cell));
        kernel.BindValues(*dots[i], {value});
      }
      return store(cells[cell]);
    }));
  }
  return absl::OkStatus();
}

}  // namespace onexpu::compiler
