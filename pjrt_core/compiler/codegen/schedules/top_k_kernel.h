// The steps that selecting the first elements of sorted rows is made of, as IR. A row is divided
// into chunks, and a node keeps the first element of a chunk in sorted order. Equal elements are
// ordered by their position, so no two elements are equal, and every step has one result whatever
// the order of work-items. One object per kernel that is being written; thread-compatible.
#ifndef PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_TOP_K_KERNEL_H_
#define PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_TOP_K_KERNEL_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/compiler/codegen/elemental/fusion_context.h"
#include "pjrt_core/compiler/codegen/kernel/kernel_sequence.h"
#include "xla/hlo/ir/hlo_instructions.h"

namespace onexpu::compiler {

// Chunks of the `length` items of a row. A row is divided into blocks of `lanes` chunks, whose
// items alternate, so that adjacent work-items that scan a chunk each read adjacent items. The last
// chunks of the last block may be empty.
struct Chunks {
  int64_t length;
  int64_t size;  // items per chunk
  int64_t lanes;

  int64_t block() const { return lanes * size; }
  int64_t blocks() const { return (length + block() - 1) / block(); }
  int64_t count() const { return blocks() * lanes; }
};

// The nodes of all rows, in scratch memory: positions, and one array for each key.
struct NodeScratch {
  int64_t per_row;
  int64_t first;  // of KernelSequence::AddScratch
};

class TopKKernel {
 public:
  // An element of the selected row: its position, and the values that the comparator reads. The
  // position of no element is negative.
  struct Candidate {
    llvm::Value* position;
    std::vector<llvm::Value*> keys;
  };
  // A candidate in private memory.
  struct Best {
    llvm::AllocaInst* position;
    std::vector<llvm::AllocaInst*> keys;
  };
  using Loader = absl::FunctionRef<absl::StatusOr<Candidate>(llvm::Value* item)>;

  TopKKernel(FusionContext& kernel, const xla::HloSortInstruction& sort);

  static NodeScratch AddNodes(KernelSequence& sequence, const xla::HloSortInstruction& sort,
                              int64_t per_row);
  // `count` positions in scratch memory.
  static int64_t AddPositions(KernelSequence& sequence, int64_t count);

  IndexMath& math() { return kernel_.index_math(); }

  // All that follows is about this row.
  void SelectRow(llvm::Value* row);

  absl::StatusOr<Candidate> LoadElement(llvm::Value* position);
  absl::StatusOr<Candidate> LoadNode(const NodeScratch& nodes, llvm::Value* node);
  absl::Status StoreNode(const NodeScratch& nodes, llvm::Value* node, const Candidate& candidate);
  // The results at `rank`: the operands' elements at `position`.
  absl::Status WriteResults(llvm::Value* position, llvm::Value* rank);

  absl::StatusOr<llvm::Value*> LoadPosition(int64_t scratch, llvm::Value* index);
  absl::Status StorePosition(int64_t scratch, llvm::Value* index, llvm::Value* position);

  // Whether `lhs` comes before `rhs`, both being elements.
  absl::StatusOr<llvm::Value*> IsBefore(const Candidate& lhs, const Candidate& rhs);
  llvm::Value* IsElement(const Candidate& candidate);

  Best NoElement();
  Candidate Value(const Best& best);
  // Makes `candidate` the best one if it is an element, `eligible` holds and it comes before the
  // best one.
  absl::Status Offer(const Best& best, const Candidate& candidate, llvm::Value* eligible);
  // The same for an element whose position is greater than that of the best one.
  absl::Status OfferNext(const Best& best, const Candidate& candidate, llvm::Value* eligible);

  // Runs `body` for each item of chunk `lane` of a block, in ascending order.
  absl::Status ForItems(const Chunks& chunks, llvm::Value* block, llvm::Value* lane,
                        absl::FunctionRef<absl::Status(llvm::Value* item)> body);

 private:
  absl::StatusOr<llvm::Value*> IsLess(const Candidate& lhs, const Candidate& rhs);
  void Take(const Best& best, const Candidate& candidate, llvm::Value* condition);
  Array Positions(int64_t scratch) const;
  Array Keys(const NodeScratch& nodes, size_t key) const;
  Index At(llvm::Value* position) const;

  FusionContext& kernel_;
  const xla::HloSortInstruction& sort_;
  const std::vector<int64_t> keys_;  // operands
  std::vector<llvm::Value*> row_;    // the index of the row, its sorted dimension free
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_TOP_K_KERNEL_H_
