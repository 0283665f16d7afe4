// Elements of a scatter's updates as IR: where they go, whether that is in bounds, and how they are
// combined with what is there, alone or against other work-items. One object per kernel that is
// being written; thread-compatible.
#ifndef PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCATTER_KERNEL_H_
#define PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCATTER_KERNEL_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/compiler/codegen/elemental/fusion_context.h"
#include "xla/hlo/ir/hlo_instructions.h"

namespace onexpu::compiler {

// What the dimensions of the updates mean.
class ScatterDimensions {
 public:
  explicit ScatterDimensions(const xla::HloScatterInstruction& scatter);

  const xla::Shape& updates() const { return *updates_; }
  // Dimensions of the updates along which no two elements can meet in the result, and all others.
  const std::vector<int64_t>& apart() const { return apart_; }
  const std::vector<int64_t>& meeting() const { return meeting_; }
  std::vector<int64_t> Extents(absl::Span<const int64_t> dimensions) const;

  // Per dimension of the operand: the dimension of the updates that runs through it, -1 for none,
  // and how many elements a window has there.
  int64_t source(int64_t operand_dimension) const { return source_[operand_dimension]; }
  int64_t window(int64_t operand_dimension) const { return window_[operand_dimension]; }
  // The updates' dimensions that count the indices, in order.
  const std::vector<int64_t>& index_dimensions() const { return index_dimensions_; }

 private:
  const xla::Shape* updates_;
  std::vector<int64_t> index_dimensions_;
  std::vector<int64_t> source_;
  std::vector<int64_t> window_;
  std::vector<int64_t> apart_;
  std::vector<int64_t> meeting_;
};

class ScatterKernel {
 public:
  ScatterKernel(FusionContext& kernel, const xla::HloScatterInstruction& scatter,
                const ScatterDimensions& dimensions)
      : kernel_(kernel), scatter_(scatter), dimensions_(dimensions), results_(kernel.results()) {}

  // True when the combiner has a value that changes nothing, and does not mind in which order it is
  // applied: Identity can be called.
  static bool HasIdentity(const xla::HloScatterInstruction& scatter);
  llvm::Value* Identity() const;

  // From here on elements are combined with those of `results`, one for each operand.
  void CombineInto(std::vector<Array> results) { results_ = std::move(results); }

  // True when Update can be made atomic: one operand of at most 64 bits.
  static bool CanBeAtomic(const xla::HloScatterInstruction& scatter, const Target& target);

  // Where the window of `element` of the updates begins along the operand's dimension that
  // `component` of the index stands for, and all of these (i64).
  absl::StatusOr<llvm::Value*> Start(const Index& element, int64_t component);
  absl::StatusOr<std::vector<llvm::Value*>> Starts(const Index& element);

  // Combines elements of one window of the updates with the result, unless it is out of bounds.
  // All of them are read before the first is written.
  absl::Status Update(absl::Span<const Index> elements, bool atomic);
  // `running` and an element of the only array of updates, combined.
  absl::StatusOr<llvm::Value*> Combined(llvm::Value* running, const Index& element);
  // The same as Update with `values` (one for each element) of a window that begins at `starts`.
  absl::Status UpdateAt(absl::Span<llvm::Value* const> starts, absl::Span<const Index> elements,
                        absl::Span<llvm::Value* const> values);

 private:
  // Runs `then` with the places of `elements` in the result, where the window is in bounds.
  absl::Status IfInBounds(absl::Span<llvm::Value* const> starts, absl::Span<const Index> elements,
                          absl::FunctionRef<absl::Status(absl::Span<const Index>)> then);
  // `updates` are called for an element's values.
  absl::Status Combine(
      absl::Span<const Index> places,
      absl::FunctionRef<absl::StatusOr<std::vector<llvm::Value*>>(size_t element)> updates);
  absl::Status CombineAtomically(const Index& place, llvm::Value* update);
  absl::Status CompareAndExchange(const Index& place, llvm::Value* update);

  FusionContext& kernel_;
  const xla::HloScatterInstruction& scatter_;
  const ScatterDimensions& dimensions_;
  std::vector<Array> results_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCATTER_KERNEL_H_
