// One element of a scatter's updates as IR: where it goes, whether it is in bounds, and how it is
// combined with what is there, alone or against other work-items. One object per kernel that is
// being written; thread-compatible.
#ifndef PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCATTER_KERNEL_H_
#define PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCATTER_KERNEL_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/compiler/codegen/fusion_context.h"
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
      : kernel_(kernel), scatter_(scatter), dimensions_(dimensions) {}

  // True when Update can be made atomic: one operand of at most 64 bits.
  static bool CanBeAtomic(const xla::HloScatterInstruction& scatter, const Target& target);

  // Combines one element of the updates with the result, unless its window is out of bounds.
  absl::Status Update(absl::Span<llvm::Value* const> update_index, bool atomic);

 private:
  absl::StatusOr<llvm::Value*> Start(absl::Span<llvm::Value* const> update_index,
                                     int64_t component);
  absl::Status Combine(const Index& place, const std::vector<llvm::Value*>& updates);
  absl::Status CombineAtomically(const Index& place, llvm::Value* update);
  absl::Status CompareAndExchange(const Index& place, llvm::Value* update);

  FusionContext& kernel_;
  const xla::HloScatterInstruction& scatter_;
  const ScatterDimensions& dimensions_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCATTER_KERNEL_H_
