// Reductions on a CPU: a work-group is a thread's work, and as wide as a vector. Its work-items
// walk a row side by side, so that the device's compiler makes vectors of them whatever the
// elements and the reducer are. (A loop in a single work-item would be left to a loop vectoriser
// that may not reorder reducers.)
#include <algorithm>
#include <optional>

#include "pjrt_core/compiler/analysis/launch_dimensions.h"
#include "pjrt_core/compiler/codegen/elemental/accumulators.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/kernel/work_group.h"
#include "pjrt_core/compiler/codegen/schedules/reduction.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/util.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;

// Enough pieces to keep all threads busy to the end.
int64_t WantedPieces(const Target& target) { return 8 * int64_t{target.compute_units}; }

// ---- The fastest dimension is reduced ----

constexpr int64_t kLanes = kVectorLanes;

// Each row is cut into `pieces` of `piece` elements; a work-group takes `together` pieces one after
// the other, because starting one costs as much as a few hundred elements.
struct RowCut {
  int64_t piece;
  int64_t pieces;
  int64_t together;
};

RowCut CutRows(const ReductionShape& shape, const Target& target) {
  // A group of fewer elements costs more than another thread gains.
  constexpr int64_t kMinElementsPerGroup = 8192;
  // The partial results of the rows in local memory must stay in the cache.
  constexpr int64_t kMaxRowsPerGroup = 64;
  // Lanes that read shares of a row are far apart. An odd share spreads them over the cache's sets:
  // shares of a power of two evict each other (8 rows of 2^20 elements: 98 ms).
  constexpr int64_t kMaxElementsPerLane = 257;  // elements
  const int64_t longest = TakesShares(shape) ? kMaxElementsPerLane * kLanes : shape.length;
  const int64_t wanted = WantedPieces(target);
  if (shape.rows >= wanted && shape.length <= longest) {
    return {shape.length, 1,
            std::clamp<int64_t>(kMinElementsPerGroup / shape.length, 1,
                                std::min(kMaxRowsPerGroup, shape.rows / wanted))};
  }
  int64_t piece = std::max(kMinElementsPerGroup,
                           xla::CeilOfRatio(shape.length, xla::CeilOfRatio(wanted, shape.rows)));
  piece = std::min(piece, longest);
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
  const int64_t scratch = whole ? 0 : AddReductionScratch(sequence, reduce, shape, count);
  // Combining the lanes of one piece in registers costs as much as some dozen elements of it; of
  // short pieces, a vector combines many at once.
  constexpr int64_t kMinSubGroupPiece = 64;
  const bool in_registers = cut.piece >= kMinSubGroupPiece && HasVectorSubGroups(sequence.target());
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
    const auto of_lane = [&](Value* number) {
      Value* first = math.Mul(math.Rem(number, cut.pieces), cut.piece);
      Value* last = whole ? math.Constant(shape.length)
                          : math.Minimum(math.Add(first, cut.piece), shape.length);
      return steps.AccumulateSideBySide(math.Div(number, cut.pieces), first, last, lane, kLanes);
    };
    const auto finish = [&](Value* number, const ReductionKernel::Values& values) {
      if (whole) return steps.Finish(number, values);
      return steps.Store(steps.ScratchArrays(scratch, count), number, values);
    };
    if (in_registers) {
      TF_RETURN_IF_ERROR(kernel->For(begin, end, one, [&](Value* number) -> absl::Status {
        TF_ASSIGN_OR_RETURN(ReductionKernel::Values values, of_lane(number));
        TF_ASSIGN_OR_RETURN(values, steps.CombineSubGroup(std::move(values), lane, kLanes));
        return kernel->If(IsFirstOfSubGroup(*kernel), [&] { return finish(number, values); });
      }));
    } else {
      // Every lane leaves what it has of each piece; then each lane combines what all have of some
      // pieces.
      const std::vector<Array> local = steps.LocalArrays(cut.together * kLanes);
      const auto place = [&](Value* number) { return math.Mul(math.Sub(number, begin), kLanes); };
      TF_RETURN_IF_ERROR(kernel->For(begin, end, one, [&](Value* number) -> absl::Status {
        TF_ASSIGN_OR_RETURN(const ReductionKernel::Values values, of_lane(number));
        return steps.Store(local, math.Add(place(number), lane), values);
      }));
      Barrier(*kernel);
      TF_RETURN_IF_ERROR(kernel->For(
          math.Add(begin, lane), end, math.Constant(kLanes), [&](Value* number) -> absl::Status {
            TF_ASSIGN_OR_RETURN(const ReductionKernel::Values values,
                                steps.CombineStored(local, math.Constant(kLanes), place(number)));
            return finish(number, values);
          }));
    }
  }
  const uint64_t items = xla::CeilOfRatio(count, cut.together) * kLanes;
  TF_RETURN_IF_ERROR(sequence.End(std::move(kernel), {{items}, {kLanes}}));
  if (whole) return absl::OkStatus();
  return EmitCombinePieces(sequence, reduce, shape, scratch, cut.pieces, /*piece_stride=*/1,
                           /*row_stride=*/cut.pieces);
}

// ---- The fastest dimension is kept: results side by side ----

// A work-group takes `width` results that lie side by side and a piece of their elements, and runs
// through the piece as memory lies: all of a row of elements before the next row. Walking down a
// column instead would touch a new page with every element, which no prefetcher follows.
// `together` elements of a result are combined between a load and a store of its running sum.
struct ColumnCut {
  int64_t width;
  int64_t tiles;
  int64_t piece;
  int64_t pieces;
  int64_t together;
};

ColumnCut CutColumns(const xla::HloInstruction& reduce, const ReductionShape& shape,
                     int64_t bytes_of_sum, const Target& target) {
  constexpr int64_t kRunningBytes = 8192;  // running sums stay in the first-level cache
  // Elements that no cache holds are read fastest as one stream, so a tile is a whole row if its
  // running sums fit a first-level cache at all: 1.15 to 1.85 times faster from 48 MB on. Of
  // elements in the third-level cache it costs up to a tenth.
  constexpr int64_t kRunningBytesOfRow = 32768;
  constexpr int64_t kMinUncachedBytes = 48'000'000;
  // Elements of one result. Partial results are read again when they are combined.
  constexpr int64_t kMinElementsPerPiece = 16;
  constexpr int64_t kMinElementsPerGroup = 8192;  // elements of a work-group
  ColumnCut cut;
  const int64_t bytes =
      shape.rows * shape.length * StorageBytes(reduce.operand(0)->shape().element_type());
  const bool is_row = shape.rows * bytes_of_sum <= kRunningBytesOfRow && bytes >= kMinUncachedBytes;
  cut.width = is_row ? shape.rows : std::min(shape.rows, kRunningBytes / bytes_of_sum);
  cut.tiles = xla::CeilOfRatio(shape.rows, cut.width);
  const int64_t wanted = xla::CeilOfRatio(WantedPieces(target), cut.tiles);
  cut.piece = std::max({xla::CeilOfRatio(shape.length, wanted), kMinElementsPerPiece,
                        xla::CeilOfRatio(kMinElementsPerGroup, cut.width)});
  cut.together = ElementsTogether(reduce, shape);
  cut.piece = std::min(xla::RoundUpTo(cut.piece, cut.together), shape.length);
  cut.pieces = xla::CeilOfRatio(shape.length, cut.piece);
  return cut;
}

absl::Status EmitColumns(KernelSequence& sequence, const xla::HloInstruction& reduce,
                         const ReductionShape& shape) {
  int64_t bytes_of_sum = 0;
  for (int64_t i = 0; i < shape.values; ++i) {
    bytes_of_sum += StorageBytes(
        AccumulatorType(reduce, i, AccumulatedParts(reduce, shape), sequence.target()));
  }
  const ColumnCut cut = CutColumns(reduce, shape, bytes_of_sum, sequence.target());
  const bool whole = cut.pieces == 1;
  const int64_t scratch =
      whole ? 0 : AddReductionScratch(sequence, reduce, shape, shape.rows * cut.pieces);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel,
                      sequence.Begin(whole ? "" : "_pieces"));
  ReductionKernel steps(*kernel, reduce, shape);
  IndexMath& math = steps.math();
  llvm::IRBuilder<>& b = kernel->b();
  Value* lane = math.ToIndexType(LocalId(*kernel));
  Value* group = math.ToIndexType(GroupId(*kernel));
  Value* one = math.Constant(1);
  Value* tile = math.Rem(group, cut.tiles);
  Value* number = math.Div(group, cut.tiles);
  Value* first_row = math.Mul(tile, cut.width);
  Value* first = math.Mul(number, cut.piece);
  Value* end = math.Minimum(math.Add(first, cut.piece), shape.length);

  // Of the running sums each lane has every kLanes-th, and no other lane's: no barrier.
  const std::vector<Array> sums = steps.LocalArrays(cut.width);
  // No vector but the last one needs a mask.
  const bool all_full = shape.rows % cut.width == 0;
  Value* count = all_full
                     ? math.Constant(cut.width)
                     : math.Minimum(b.CreateSub(math.Constant(shape.rows), first_row), cut.width);
  Value* whole_vectors = math.Mul(math.Div(count, kLanes), kLanes);
  const auto for_each_of_lane =
      [&](absl::FunctionRef<absl::Status(Value * place, Value * row)> visit) -> absl::Status {
    const auto at = [&](Value* base) {
      Value* place = math.Add(base, lane);
      return visit(place, math.Add(first_row, place));
    };
    TF_RETURN_IF_ERROR(kernel->For(math.Constant(0), whole_vectors, math.Constant(kLanes), at));
    if (all_full && cut.width % kLanes == 0) return absl::OkStatus();
    return kernel->If(b.CreateICmpSLT(math.Add(whole_vectors, lane), count),
                      [&] { return at(whole_vectors); });
  };
  // Combines `elements` of them, from `element` on, and with them what was there before.
  const auto accumulate = [&](Value* element, int64_t elements, bool is_first) {
    return for_each_of_lane([&](Value* place, Value* row) -> absl::Status {
      std::vector<ReductionKernel::Values> values;
      for (int64_t i = 0; i < elements; ++i) {
        TF_ASSIGN_OR_RETURN(values.emplace_back(), steps.Element(row, math.Add(element, i)));
      }
      TF_ASSIGN_OR_RETURN(ReductionKernel::Values combined,
                          steps.CombineInPairs(std::move(values)));
      if (!is_first) {
        TF_ASSIGN_OR_RETURN(const ReductionKernel::Values running, steps.Load(sums, place));
        TF_ASSIGN_OR_RETURN(combined, steps.Combine(running, combined));
      }
      return steps.Store(sums, place, combined);
    });
  };
  Value* next = first;
  if (const std::optional<ReductionKernel::Values> identity = steps.Identity()) {
    TF_RETURN_IF_ERROR(for_each_of_lane(
        [&](Value* place, Value*) { return steps.Store(sums, place, *identity); }));
  } else {  // the code of the first elements stands twice
    const int64_t last_piece = shape.length - (cut.pieces - 1) * cut.piece;
    const int64_t begun = last_piece < cut.together ? 1 : cut.together;
    TF_RETURN_IF_ERROR(accumulate(first, begun, /*is_first=*/true));
    next = math.Add(first, begun);
  }
  Value* rest = next;
  if (cut.together > 1) {
    rest = math.Add(next, math.Mul(math.Div(math.Sub(end, next), cut.together), cut.together));
    TF_RETURN_IF_ERROR(kernel->For(next, rest, math.Constant(cut.together), [&](Value* element) {
      return accumulate(element, cut.together, /*is_first=*/false);
    }));
  }
  if (cut.together == 1 || shape.length % cut.together != 0) {
    TF_RETURN_IF_ERROR(kernel->For(rest, end, one, [&](Value* element) {
      return accumulate(element, 1, /*is_first=*/false);
    }));
  }
  TF_RETURN_IF_ERROR(for_each_of_lane([&](Value* place, Value* row) -> absl::Status {
    TF_ASSIGN_OR_RETURN(const ReductionKernel::Values values, steps.Load(sums, place));
    if (whole) return steps.Finish(row, values);
    return steps.Store(steps.ScratchArrays(scratch, shape.rows * cut.pieces),
                       math.Add(math.Mul(number, shape.rows), row), values);
  }));
  const uint64_t items = cut.tiles * cut.pieces * kLanes;
  TF_RETURN_IF_ERROR(sequence.End(std::move(kernel), {{items}, {kLanes}}));
  if (whole) return absl::OkStatus();
  return EmitCombinePieces(sequence, reduce, shape, scratch, cut.pieces,
                           /*piece_stride=*/shape.rows, /*row_stride=*/1);
}

// ---- The same with few results side by side: several elements of each in a vector ----

absl::Status EmitNarrowColumns(KernelSequence& sequence, const xla::HloInstruction& reduce,
                               const ReductionShape& shape) {
  // Elements of one result. A smaller piece costs more than another thread gains.
  constexpr int64_t kMinElementsPerPiece = 4096;
  const int64_t width = shape.minor_kept;
  const int64_t together = kLanes / width;  // elements of each result in a vector
  const int64_t tiles = shape.rows / width;
  const int64_t wanted = xla::CeilOfRatio(WantedPieces(sequence.target()), tiles);
  const int64_t piece = xla::RoundUpTo(std::max(xla::CeilOfRatio(shape.length, wanted),
                                                std::min(kMinElementsPerPiece, shape.length)),
                                       together);
  const int64_t pieces = xla::CeilOfRatio(shape.length, piece);
  const bool whole = pieces == 1;
  const int64_t scratch =
      whole ? 0 : AddReductionScratch(sequence, reduce, shape, shape.rows * pieces);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel,
                      sequence.Begin(whole ? "" : "_pieces"));
  ReductionKernel steps(*kernel, reduce, shape);
  IndexMath& math = steps.math();
  llvm::IRBuilder<>& b = kernel->b();
  Value* wide_lane = LocalId(*kernel);
  Value* lane = math.ToIndexType(wide_lane);
  Value* column = math.Rem(lane, width);
  Value* behind = math.Div(lane, width);
  Value* group = math.ToIndexType(GroupId(*kernel));
  Value* tile = math.Rem(group, tiles);
  Value* number = math.Div(group, tiles);
  Value* row = math.Add(math.Mul(tile, width), column);
  Value* first = math.Mul(number, piece);
  Value* end = math.Minimum(math.Add(first, piece), shape.length);
  const auto element = [&](Value* base) {
    // Lanes lie side by side wherever they begin.
    Value* begin = b.CreateNSWAdd(b.CreateNSWMul(math.Widen(tile), b.getInt64(shape.length)),
                                  math.Widen(base));
    Value* place = b.CreateNSWAdd(b.CreateNSWMul(begin, b.getInt64(width)), wide_lane);
    return steps.Element(row, math.Add(base, behind), shape.reduces_middle ? place : nullptr);
  };

  // Lanes beyond the last whole set of results have nothing.
  const std::vector<Array> local = steps.LocalArrays(kLanes);
  Value* takes_part = b.CreateAnd(b.CreateICmpSLT(lane, math.Constant(together * width)),
                                  b.CreateICmpSLT(math.Add(first, behind), end));
  TF_RETURN_IF_ERROR(kernel->If(takes_part, [&]() -> absl::Status {
    if (TakesShares(shape)) {
      TF_ASSIGN_OR_RETURN(const ReductionKernel::Values values,
                          steps.Accumulate(row, first, end, behind, together));
      return steps.Store(local, lane, values);
    }
    Value* begin = first;
    TF_ASSIGN_OR_RETURN(const ReductionKernel::Values initial,
                        steps.InitialOf(begin, together, element));
    Accumulators sums(*kernel, reduce, initial, AccumulatedParts(reduce, shape));
    // The same trips for every lane, so that none of them needs a mask.
    Value* trips = math.Div(b.CreateSub(end, first), together);
    Value* rest = math.Add(first, math.Mul(trips, together));
    TF_RETURN_IF_ERROR(steps.AddElements(sums, begin, rest, together, element));
    // Of a piece shorter than a vector, the first step may have had all.
    Value* has_rest =
        b.CreateAnd(b.CreateICmpSGE(rest, begin), b.CreateICmpSLT(math.Add(rest, behind), end));
    TF_RETURN_IF_ERROR(kernel->If(has_rest, [&]() -> absl::Status {
      TF_ASSIGN_OR_RETURN(const ReductionKernel::Values values, element(rest));
      return sums.Add(values);
    }));
    const ReductionKernel::Values values = sums.Running();
    return steps.Store(local, lane, values);
  }));
  Barrier(*kernel);
  TF_RETURN_IF_ERROR(kernel->If(b.CreateICmpSLT(lane, math.Constant(width)), [&]() -> absl::Status {
    Value* filled = math.Minimum(b.CreateSub(end, first), together);
    TF_ASSIGN_OR_RETURN(const ReductionKernel::Values values,
                        steps.CombineStored(local, filled, lane, width));
    if (whole) return steps.Finish(row, values);
    return steps.Store(steps.ScratchArrays(scratch, shape.rows * pieces),
                       math.Add(math.Mul(number, shape.rows), row), values);
  }));
  const uint64_t items = tiles * pieces * kLanes;
  TF_RETURN_IF_ERROR(sequence.End(std::move(kernel), {{items}, {kLanes}}));
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
  constexpr int64_t kMinReducedLength = 64;
  return shape.length >=
         (shape.minor_kept == 1 || shape.minor_kept >= kLanes ? 16 : kMinReducedLength);
}

absl::Status EmitReductionForCpu(KernelSequence& sequence, const xla::HloInstruction& reduce,
                                 const ReductionShape& shape) {
  if (shape.minor_kept == 1) return EmitRows(sequence, reduce, shape);
  return shape.minor_kept < kLanes ? EmitNarrowColumns(sequence, reduce, shape)
                                   : EmitColumns(sequence, reduce, shape);
}

}  // namespace onexpu::compiler
