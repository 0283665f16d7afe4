// Reductions on a GPU: the work-items of a group share each result, side by side in memory, and
// combine what they have in local memory.
#include <algorithm>

#include "pjrt_core/compiler/codegen/kernel/work_group.h"
#include "pjrt_core/compiler/codegen/schedules/reduction.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/util.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;

constexpr int64_t kGroup = 256;
constexpr int64_t kColumns = 32;  // of a group's tile, when the fastest dimension is kept

// The tile of work-items: `lanes` share one result, `columns` results are side by side.
struct Tile {
  int64_t lanes;
  int64_t columns;
};

int64_t LargestPower(int64_t limit) {
  int64_t power = 1;
  while (2 * power <= limit) power *= 2;
  return power;
}

// The number of work-items whose values fit in half of local memory. The driver may use the rest.
int64_t ItemsInLocalMemory(const xla::HloInstruction& reduce, const ReductionShape& shape,
                           const Target& target) {
  return static_cast<int64_t>(target.local_memory_bytes) / 2 /
         AccumulatedBytes(reduce, shape, target);
}

Tile ChooseTile(const xla::HloInstruction& reduce, const ReductionShape& shape,
                const Target& target) {
  const int64_t group = LargestPower(std::min(
      {kGroup, int64_t{target.max_work_group_size}, ItemsInLocalMemory(reduce, shape, target)}));
  if (shape.minor_kept == 1) {
    const int64_t lanes = std::min(group, LargestPower(shape.length));
    // Short rows: several of them in one group.
    return {lanes, std::max<int64_t>(1, std::min(group / lanes, shape.rows))};
  }
  return {std::min(group / kColumns, LargestPower(shape.length)), kColumns};
}

// How many elements of a result one group takes, so that there are groups enough for the device.
int64_t ChoosePiece(const ReductionShape& shape, const Tile& tile, const Target& target) {
  const int64_t groups = xla::CeilOfRatio(shape.rows, tile.columns);
  const int64_t wanted = xla::CeilOfRatio(4 * int64_t{target.compute_units}, groups);
  // A lane should have this many at least.
  constexpr int64_t kMinElementsPerLane = 16;
  const int64_t most = std::max<int64_t>(1, shape.length / (tile.lanes * kMinElementsPerLane));
  return xla::CeilOfRatio(shape.length, std::clamp<int64_t>(wanted, 1, most));
}

}  // namespace

bool IsReductionForGpu(const xla::HloInstruction& reduce, const ReductionShape& shape,
                       const Target& target) {
  // The values of a variadic reduction with many operands may not fit in local memory.
  return shape.length >= 32 && ItemsInLocalMemory(reduce, shape, target) >= kColumns;
}

absl::Status EmitReductionForGpu(KernelSequence& sequence, const xla::HloInstruction& reduce,
                                 const ReductionShape& shape) {
  const Tile tile = ChooseTile(reduce, shape, sequence.target());
  const int64_t piece = ChoosePiece(shape, tile, sequence.target());
  const int64_t pieces = xla::CeilOfRatio(shape.length, piece);
  const int64_t group = tile.lanes * tile.columns;
  const int64_t groups_per_piece = xla::CeilOfRatio(shape.rows, tile.columns);
  const bool whole = pieces == 1;
  const int64_t scratch =
      whole ? 0 : AddReductionScratch(sequence, reduce, shape, shape.rows * pieces);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel,
                      sequence.Begin(whole ? "" : "_pieces"));
  {
    ReductionKernel steps(*kernel, reduce, shape);
    llvm::IRBuilder<>& b = kernel->b();
    IndexMath& math = steps.math();
    Value* item = math.ToIndexType(LocalId(*kernel));
    Value* group_id = math.ToIndexType(GroupId(*kernel));
    // Neighbours in a group are neighbours in memory: along the row, or across rows.
    const bool along = shape.minor_kept == 1;
    Value* lane = along ? math.Rem(item, tile.lanes) : math.Div(item, tile.columns);
    Value* column = along ? math.Div(item, tile.lanes) : math.Rem(item, tile.columns);
    Value* row = math.Add(math.Mul(math.Rem(group_id, groups_per_piece), tile.columns), column);
    Value* number = math.Div(group_id, groups_per_piece);
    Value* first = math.Mul(number, piece);
    Value* end = math.Minimum(math.Add(first, piece), shape.length);
    Value* row_exists = b.CreateICmpSLT(row, math.Constant(shape.rows));

    // The last piece may be shorter than there are lanes: then some have nothing to give.
    const std::vector<Array> local = steps.LocalArrays(group);
    Value* place = math.Add(math.Mul(lane, tile.columns), column);
    Value* has_elements = b.CreateAnd(row_exists, b.CreateICmpSLT(math.Add(first, lane), end));
    TF_RETURN_IF_ERROR(kernel->If(has_elements, [&]() -> absl::Status {
      TF_ASSIGN_OR_RETURN(const ReductionKernel::Values values,
                          steps.Accumulate(row, first, end, lane, tile.lanes));
      return steps.Store(local, place, values);
    }));
    Value* lanes_with_elements = b.CreateSub(end, first);
    TF_RETURN_IF_ERROR(
        steps.CombineLocal(local, lane, column, tile.lanes, tile.columns, lanes_with_elements));
    Value* is_first = b.CreateAnd(row_exists, b.CreateICmpEQ(lane, math.Constant(0)));
    TF_RETURN_IF_ERROR(kernel->If(is_first, [&]() -> absl::Status {
      TF_ASSIGN_OR_RETURN(const ReductionKernel::Values values, steps.Load(local, column));
      if (whole) return steps.Finish(row, values);
      return steps.Store(steps.ScratchArrays(scratch, shape.rows * pieces),
                         math.Add(math.Mul(number, shape.rows), row), values);
    }));
  }
  const uint64_t local_size = group;
  const uint64_t items = local_size * groups_per_piece * pieces;
  TF_RETURN_IF_ERROR(sequence.End(std::move(kernel), {{items}, {local_size}}));
  if (whole) return absl::OkStatus();
  return EmitCombinePieces(sequence, reduce, shape, scratch, pieces, /*piece_stride=*/shape.rows,
                           /*row_stride=*/1);
}

}  // namespace onexpu::compiler
