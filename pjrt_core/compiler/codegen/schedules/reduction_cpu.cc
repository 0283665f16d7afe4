// Reductions on a CPU: a work-group is a thread's work, and as wide as a vector. Its work-items
// walk a row side by side, so that the device's compiler makes vectors of them whatever the
// elements and the reducer are. (A loop in a single work-item would be left to a loop vectoriser
// that may not reorder reducers.)
#include <algorithm>

#include "pjrt_core/compiler/codegen/schedules/reduction.h"
#include "pjrt_core/compiler/codegen/work_group.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/util.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;

// Enough pieces to keep all threads busy to the end.
int64_t WantedPieces(const Target& target) { return 8 * int64_t{target.compute_units}; }

// ---- The fastest dimension is reduced ----

constexpr int64_t kLanes = 16;

// Each row is cut into `pieces` of `piece` elements; a work-group takes `together` pieces one after
// the other, because starting one costs as much as a few hundred elements.
struct RowCut {
  int64_t piece;
  int64_t pieces;
  int64_t together;
};

RowCut CutRows(const ReductionShape& shape, const Target& target) {
  constexpr int64_t kWorth = 8192;   // elements; less costs more than another thread gains
  constexpr int64_t kTogether = 64;  // what they leave in local memory must stay in the cache
  const int64_t wanted = WantedPieces(target);
  if (shape.rows >= wanted) {
    return {
        shape.length, 1,
        std::clamp<int64_t>(kWorth / shape.length, 1, std::min(kTogether, shape.rows / wanted))};
  }
  int64_t piece =
      std::max(kWorth, xla::CeilOfRatio(shape.length, xla::CeilOfRatio(wanted, shape.rows)));
  if (piece >= shape.length) return {shape.length, 1, 1};
  // Every lane has an element of the last piece, too.
  while (shape.length % piece != 0 && shape.length % piece < kLanes) ++piece;
  return {piece, xla::CeilOfRatio(shape.length, piece), 1};
}

absl::Status EmitRows(KernelSequence& sequence, const xla::HloInstruction& reduce,
                      const ReductionShape& shape) {
  const RowCut cut = CutRows(shape, sequence.target());
  const bool whole = cut.pieces == 1;
  const int64_t count = shape.rows * cut.pieces;
  const int64_t scratch = whole ? 0 : AddReductionScratch(sequence, reduce, count);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel,
                      sequence.Begin(whole ? "" : "_pieces"));
  {
    ReductionKernel steps(*kernel, reduce, shape);
    IndexMath& math = steps.math();
    Value* lane = math.ToIndexType(LocalId(*kernel));
    Value* one = math.Constant(1);
    Value* begin = math.Mul(math.ToIndexType(GroupId(*kernel)), cut.together);
    Value* end = cut.together == 1 ? math.Add(begin, one)
                                   : math.Minimum(math.Add(begin, cut.together), count);
    // Every lane leaves what it has of each piece; then each lane combines what all have of some
    // pieces.
    const std::vector<Array> local = steps.LocalArrays(cut.together * kLanes);
    const auto place = [&](Value* number) { return math.Mul(math.Sub(number, begin), kLanes); };
    TF_RETURN_IF_ERROR(kernel->For(begin, end, one, [&](Value* number) -> absl::Status {
      Value* first = math.Mul(math.Rem(number, cut.pieces), cut.piece);
      Value* last = whole ? math.Constant(shape.length)
                          : math.Minimum(math.Add(first, cut.piece), shape.length);
      TF_ASSIGN_OR_RETURN(
          const ReductionKernel::Values values,
          steps.AccumulateSideBySide(math.Div(number, cut.pieces), first, last, lane, kLanes));
      return steps.Store(local, math.Add(place(number), lane), values);
    }));
    Barrier(*kernel);
    TF_RETURN_IF_ERROR(kernel->For(
        math.Add(begin, lane), end, math.Constant(kLanes), [&](Value* number) -> absl::Status {
          TF_ASSIGN_OR_RETURN(const ReductionKernel::Values values,
                              steps.CombineStored(local, math.Constant(kLanes), place(number)));
          if (whole) return steps.Finish(number, values);
          return steps.Store(steps.ScratchArrays(scratch, count), number, values);
        }));
  }
  const uint64_t items = xla::CeilOfRatio(count, cut.together) * kLanes;
  TF_RETURN_IF_ERROR(sequence.End(std::move(kernel), {{items}, {kLanes}}));
  if (whole) return absl::OkStatus();
  return EmitCombinePieces(sequence, reduce, shape, scratch, cut.pieces, /*piece_stride=*/1,
                           /*row_stride=*/cut.pieces);
}

// ---- The fastest dimension is kept: one result per work-item, side by side ----

// About the square root of the length, so that both launches read about as far: long columns run
// through too many pages of memory, and short ones leave much to combine.
int64_t PieceOfColumn(int64_t length) {
  constexpr int64_t kShortest = 32;
  int64_t piece = kShortest;
  while (piece * piece < length) piece *= 2;
  return length <= 2 * kShortest ? length : piece;
}

absl::Status EmitColumns(KernelSequence& sequence, const xla::HloInstruction& reduce,
                         const ReductionShape& shape) {
  const int64_t piece = PieceOfColumn(shape.length);
  const int64_t pieces = xla::CeilOfRatio(shape.length, piece);
  const bool whole = pieces == 1;
  const int64_t scratch = whole ? 0 : AddReductionScratch(sequence, reduce, shape.rows * pieces);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel,
                      sequence.Begin(whole ? "" : "_pieces"));
  ReductionKernel steps(*kernel, reduce, shape);
  IndexMath& math = steps.math();
  // A launch dimension for the results alone: the device's compiler sees that neighbours read
  // neighbours.
  LaunchDimensions launch =
      ChooseRowLaunch(pieces, shape.rows, WorkItemCost::kLoop, sequence.target());
  Value* row = math.ToIndexType(kernel->GlobalId(0));
  Value* number = math.ToIndexType(kernel->GlobalId(1));
  Value* exists = kernel->b().CreateAnd(kernel->b().CreateICmpSLT(row, math.Constant(shape.rows)),
                                        kernel->b().CreateICmpSLT(number, math.Constant(pieces)));
  TF_RETURN_IF_ERROR(kernel->If(exists, [&]() -> absl::Status {
    Value* first = math.Mul(number, piece);
    Value* end = math.Minimum(math.Add(first, piece), shape.length);
    TF_ASSIGN_OR_RETURN(const ReductionKernel::Values values,
                        steps.Accumulate(row, first, end, math.Constant(1)));
    if (whole) return steps.Finish(row, values);
    return steps.Store(steps.ScratchArrays(scratch, shape.rows * pieces),
                       math.Add(math.Mul(number, shape.rows), row), values);
  }));
  TF_RETURN_IF_ERROR(sequence.End(std::move(kernel), std::move(launch)));
  if (whole) return absl::OkStatus();
  return EmitCombinePieces(sequence, reduce, shape, scratch, pieces, /*piece_stride=*/shape.rows,
                           /*row_stride=*/1);
}

}  // namespace

absl::Status EmitCombinePieces(KernelSequence& sequence, const xla::HloInstruction& reduce,
                               const ReductionShape& shape, int64_t scratch, int64_t pieces,
                               int64_t piece_stride, int64_t row_stride) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin("_combine"));
  ReductionKernel steps(*kernel, reduce, shape);
  IndexMath& math = steps.math();
  const std::vector<Array> parts = steps.ScratchArrays(scratch, shape.rows * pieces);
  TF_ASSIGN_OR_RETURN(
      LaunchDimensions launch,
      kernel->PerWorkItem(shape.rows, WorkItemCost::kLoop, [&](Value* id) -> absl::Status {
        Value* row = math.ToIndexType(id);
        Value* base = math.Mul(row, row_stride);
        TF_ASSIGN_OR_RETURN(const ReductionKernel::Values values,
                            steps.CombineStored(parts, math.Constant(pieces), base, piece_stride));
        return steps.Finish(row, values);
      }));
  return sequence.End(std::move(kernel), std::move(launch));
}

bool IsReductionForCpu(const ReductionShape& shape) {
  // Short sums side by side are what plain work-items do best.
  if (shape.minor_kept == 1) return shape.length >= 16;
  return shape.minor_kept >= 16 && shape.length >= 16;
}

absl::Status EmitReductionForCpu(KernelSequence& sequence, const xla::HloInstruction& reduce,
                                 const ReductionShape& shape) {
  return shape.minor_kept > 1 ? EmitColumns(sequence, reduce, shape)
                              : EmitRows(sequence, reduce, shape);
}

}  // namespace onexpu::compiler
