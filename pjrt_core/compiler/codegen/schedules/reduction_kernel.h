// What all schedules of a kReduce have in common: how its dimensions lie in memory, and serial and
// cooperative combining in any type. The result of combining elements alone is combined with the
// initial value exactly once, at the end. One object per kernel that is being written;
// thread-compatible.
#ifndef PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_REDUCTION_KERNEL_H_
#define PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_REDUCTION_KERNEL_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/compiler/analysis/combine_order.h"
#include "pjrt_core/compiler/codegen/elemental/accumulators.h"
#include "pjrt_core/compiler/codegen/elemental/fusion_context.h"
#include "pjrt_core/compiler/codegen/kernel/kernel_sequence.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// The dimensions of the reduced arrays, in two groups, each in order of memory with the fastest
// last.
struct ReductionShape {
  explicit ReductionShape(const xla::HloInstruction& reduce);

  std::vector<int64_t> kept;
  std::vector<int64_t> reduced;
  std::vector<int64_t> kept_extents;
  std::vector<int64_t> reduced_extents;
  int64_t rows = 1;        // results: the product of kept_extents
  int64_t length = 1;      // elements of one result: the product of reduced_extents
  int64_t minor_kept = 1;  // results that lie side by side: 1 when the fastest dimension is reduced
  bool reduces_fastest = false;  // all reduced dimensions are faster than all kept ones
  bool reduces_middle = false;   // ... than all kept ones but the minor_kept results
  int64_t values = 1;            // of each element (several for a variadic reduction)
  ReductionOrder order;          // in which elements may be combined
  bool is_ascending = false;     // memory order is the lexicographic order of the reduced indices
};

// A lane's elements, of all elements of a piece. If the reducer depends on the order, lanes take
// contiguous shares, otherwise they take interleaved elements, which are contiguous across lanes.
inline bool TakesShares(const ReductionShape& shape) {
  return shape.order.order == CombineOrder::kAscending;
}

// Elements that a lane combines before they join an accumulator, a power of two. Several if
// elements are cheap, because the code that computes an element is repeated.
int64_t ElementsTogether(const xla::HloInstruction& reduce, const ReductionShape& shape);
// Parts of a result's elements with an accumulator, or a group of ElementsTogether(), for each.
int64_t AccumulatedParts(const xla::HloInstruction& reduce, const ReductionShape& shape);

class ReductionKernel {
 public:
  using Values = ReductionValues;

  // `parts` of a result's elements have an accumulator, or share one in groups.
  ReductionKernel(FusionContext& kernel, const xla::HloInstruction& reduce,
                  const ReductionShape& shape, int64_t parts)
      : kernel_(kernel), reduce_(reduce), shape_(shape), parts_(parts) {}
  ReductionKernel(FusionContext& kernel, const xla::HloInstruction& reduce,
                  const ReductionShape& shape)
      : ReductionKernel(kernel, reduce, shape, AccumulatedParts(reduce, shape)) {}

  FusionContext& kernel() { return kernel_; }
  IndexMath& math() { return kernel_.index_math(); }
  const ReductionShape& shape() const { return shape_; }

  // The element number `element` of the result number `row`. `place` (i64), when it is known, is
  // its place in memory.
  absl::StatusOr<Values> Element(llvm::Value* row, llvm::Value* element,
                                 llvm::Value* place = nullptr);

  // Where that is. `place` as above.
  Index IndexOf(llvm::Value* row, llvm::Value* element, llvm::Value* place = nullptr);

  // What combined with any values gives these, if the reducer only adds floats.
  std::optional<Values> Identity();
  // Running results before the elements from `begin` on: the identity, or the first element, and
  // `begin` moves to the next one. The identity spares the code of an element and, where `begin` is
  // aligned, that of a remainder.
  absl::StatusOr<Values> InitialOf(llvm::Value*& begin, int64_t step,
                                   absl::FunctionRef<absl::StatusOr<Values>(llvm::Value*)> element);

  // Combines two elements or results, of which those of `lhs` come before those of `rhs`.
  absl::StatusOr<Values> Combine(const Values& lhs, const Values& rhs);
  // Combines the results of two lanes. `lhs` comes before `rhs` if TakesShares(shape()).
  absl::StatusOr<Values> CombineLanes(const Values& lhs, const Values& rhs);

  // Combines several elements or results, which are in order, in pairs.
  absl::StatusOr<Values> CombineInPairs(std::vector<Values> values);

  // Adds what `element` gives for begin, begin + step, ... below `end`, which may be below `begin`.
  absl::Status AddElements(Accumulators& sums, llvm::Value* begin, llvm::Value* end, int64_t step,
                           absl::FunctionRef<absl::StatusOr<Values>(llvm::Value*)> element);

  // The result of lane `lane` for elements first to end - 1, at least one of them the lane's: every
  // `lanes`-th, or a share.
  absl::StatusOr<Values> Accumulate(llvm::Value* row, llvm::Value* first, llvm::Value* end,
                                    llvm::Value* lane, int64_t lanes);

  // The same for at least `lanes` elements, in the same number of steps for every lane, so that
  // only the last step needs a mask.
  absl::StatusOr<Values> AccumulateSideBySide(llvm::Value* row, llvm::Value* first,
                                              llvm::Value* end, llvm::Value* lane, int64_t lanes);

  // The result: `values`, of all elements, combined with the initial value.
  absl::StatusOr<Values> Result(const Values& values);
  // The same, stored.
  absl::Status Finish(llvm::Value* row, const Values& values);

  // ---- Intermediate values, in any memory ----
  std::vector<Array> ScratchArrays(int64_t first, int64_t count) const;
  std::vector<Array> LocalArrays(int64_t count) const;
  absl::StatusOr<Values> Load(const std::vector<Array>& arrays, llvm::Value* place);
  absl::Status Store(const std::vector<Array>& arrays, llvm::Value* place, const Values& values);

  // Combines `count` stored results of lanes or pieces, at least one, in order, from offset `first`
  // (0 if null) on, `stride` apart.
  absl::StatusOr<Values> CombineStored(const std::vector<Array>& arrays, llvm::Value* count,
                                       llvm::Value* first = nullptr, int64_t stride = 1);

  // Combines what the work-items of a sub-group of `lanes`, a power of two, hold, for each of them.
  // To be called by all of them, each with its number.
  absl::StatusOr<Values> CombineSubGroup(Values values, llvm::Value* lane, int64_t lanes);

  // Combines what the work-items of a group hold: lanes 0 to `lanes` - 1 of each column, a power of
  // two, in `local` memory at lane * columns + column, of which the first `filled` hold something.
  // To be called by all work-items of the group; lane 0's place then holds the whole.
  absl::Status CombineLocal(const std::vector<Array>& local, llvm::Value* lane, llvm::Value* column,
                            int64_t lanes, int64_t columns, llvm::Value* filled);

 private:
  absl::StatusOr<Values> AccumulateShare(llvm::Value* row, llvm::Value* first, llvm::Value* end,
                                         llvm::Value* lane, int64_t lanes);

  FusionContext& kernel_;
  const xla::HloInstruction& reduce_;
  const ReductionShape& shape_;
  const int64_t parts_;
};

// The size of one result's intermediate values, over all operands of a variadic reduction.
int64_t AccumulatedBytes(const xla::HloInstruction& reduce, const ReductionShape& shape,
                         const Target& target);

// Adds scratch for `count` intermediate values; the number of the first.
int64_t AddReductionScratch(KernelSequence& sequence, const xla::HloInstruction& reduce,
                            const ReductionShape& shape, int64_t count);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_REDUCTION_KERNEL_H_
