// The steps that sorting is made of, as IR: a merge sort whose merges are cut into independent
// pieces ("merge path"), so that any number of work-items can share one row. Stable for every
// comparator, exact for every length. One object per kernel that is being written;
// thread-compatible.
#ifndef PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SORT_KERNEL_H_
#define PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SORT_KERNEL_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/compiler/codegen/elemental/fusion_context.h"
#include "xla/hlo/ir/hlo_instructions.h"

namespace onexpu::compiler {

class SortKernel {
 public:
  // So many elements are sorted by insertion before merging starts. A power of two.
  static constexpr int64_t kRun = 16;

  SortKernel(FusionContext& kernel, const xla::HloSortInstruction& sort);

  int64_t length() const { return length_; }
  int64_t rows() const { return rows_; }
  IndexMath& math() { return kernel_.index_math(); }

  // All that follows is about this row.
  void SelectRow(llvm::Value* row);

  // Arrays of the operands' shapes in scratch memory, from `first` on.
  std::vector<Array> ScratchArrays(int64_t first) const;

  // Copies the row's operands to `destination`, in sorted runs of kRun. Shared by work-items first,
  // first + stride, ...
  absl::Status SortRuns(const std::vector<Array>& destination, llvm::Value* first,
                        llvm::Value* stride);

  // Merges pairs of sorted runs of `width` elements, a power of two that is at least kRun, in
  // pieces of at most `largest_piece` results.
  absl::Status MergeRuns(const std::vector<Array>& source, const std::vector<Array>& destination,
                         llvm::Value* width, int64_t largest_piece, llvm::Value* first,
                         llvm::Value* stride);

 private:
  using Values = std::vector<llvm::Value*>;

  Index At(llvm::Value* position) const;
  absl::StatusOr<Values> Load(const std::vector<Array>& arrays, llvm::Value* position);
  absl::Status Store(const std::vector<Array>& arrays, llvm::Value* position, const Values& values);
  absl::StatusOr<llvm::Value*> IsLess(const Values& lhs, const Values& rhs);
  llvm::Value* Minimum(llvm::Value* lhs, llvm::Value* rhs);
  absl::Status Insert(const std::vector<Array>& destination, llvm::Value* begin,
                      llvm::Value* position);
  // The results from `begin` to `end`, which lie in one pair of runs.
  absl::Status MergePiece(const std::vector<Array>& source, const std::vector<Array>& destination,
                          llvm::Value* width, llvm::Value* begin, llvm::Value* end);

  FusionContext& kernel_;
  const xla::HloSortInstruction& sort_;
  const xla::Shape& shape_;  // of every operand, except for the element type
  int64_t length_;
  int64_t rows_;
  std::vector<llvm::Value*> row_;  // the index of the row, its sorted dimension free
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SORT_KERNEL_H_
