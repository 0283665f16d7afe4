// Reductions on a CPU: a work-item is a thread's work. It runs along memory, alone in its work-group, and the device's
// compiler vectorises that run; work-items side by side would read far apart.
#include <algorithm>

#include "pjrt_core/compiler/codegen/schedules/reduction.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;

int64_t CeilDiv(int64_t x, int64_t y) { return (x + y - 1) / y; }

// Enough pieces to keep all threads busy to the end.
int64_t WantedPieces(const Target& target) { return 8 * int64_t{target.compute_units}; }

Value* Minimum(ReductionKernel& steps, Value* x, int64_t limit) {
  Value* bound = steps.math().Constant(limit);
  llvm::IRBuilder<>& b = steps.kernel().b();
  return b.CreateSelect(b.CreateICmpSLT(x, bound), x, bound);
}

// False for what vectorises as a serial loop; and where each lane would repeat a long computation of the elements.
bool NeedsLanes(const xla::HloInstruction& reduce) {
  constexpr int64_t kLongest = 8;
  const xla::HloInstruction& reducer = *reduce.to_apply()->root_instruction();
  switch (reducer.opcode()) {
    case xla::HloOpcode::kAdd:
    case xla::HloOpcode::kMultiply:
    case xla::HloOpcode::kAnd:
    case xla::HloOpcode::kOr:
    case xla::HloOpcode::kXor:
      return false;
    default:
      return reduce.parent()->IsFusionComputation() ? reduce.parent()->instruction_count() <= kLongest : true;
  }
}

// ---- The fastest dimension is reduced: one run per work-item ----

// Short runs several at a time: a work-group costs as much as a few hundred elements.
absl::Status EmitRows(KernelSequence& sequence, const xla::HloInstruction& reduce, const ReductionShape& shape) {
  constexpr int64_t kWorth = 8192;
  const int64_t most = std::max<int64_t>(1, shape.rows / WantedPieces(sequence.target()));
  const int64_t together = std::clamp<int64_t>(kWorth / shape.length, 1, most);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin());
  ReductionKernel steps(*kernel, reduce, shape);
  IndexMath& math = steps.math();
  const bool in_lanes = NeedsLanes(reduce);
  const auto emit_row = [&](Value* row) -> absl::Status {
    TF_ASSIGN_OR_RETURN(const ReductionKernel::Values values,
                        in_lanes ? steps.AccumulateInLanes(row)
                                 : steps.Accumulate(row, math.Constant(0), math.Constant(shape.length),
                                                    math.Constant(1)));
    return steps.Finish(row, values);
  };
  Value* id = math.ToIndexType(kernel->GlobalId());
  if (together == 1) {
    TF_RETURN_IF_ERROR(emit_row(id));
  } else {
    Value* first = math.Mul(id, together);
    Value* end = Minimum(steps, math.Add(first, together), shape.rows);
    TF_RETURN_IF_ERROR(kernel->For(first, end, math.Constant(1), emit_row));
  }
  return sequence.End(std::move(kernel), {{static_cast<uint64_t>(CeilDiv(shape.rows, together))}, {1}});
}

// Few long runs are cut into `pieces` of `piece` elements; a second launch combines what came of them.
absl::Status EmitCutRows(KernelSequence& sequence, const xla::HloInstruction& reduce, const ReductionShape& shape,
                         int64_t piece) {
  const int64_t pieces = CeilDiv(shape.length, piece);
  const int64_t scratch = AddReductionScratch(sequence, reduce, shape.rows * pieces);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin("_pieces"));
  {
    ReductionKernel steps(*kernel, reduce, shape);
    IndexMath& math = steps.math();
    Value* id = math.ToIndexType(kernel->GlobalId());
    Value* first = math.Mul(math.Rem(id, pieces), piece);
    Value* end = Minimum(steps, math.Add(first, piece), shape.length);
    TF_ASSIGN_OR_RETURN(const ReductionKernel::Values values,
                        steps.Accumulate(math.Div(id, pieces), first, end, math.Constant(1)));
    TF_RETURN_IF_ERROR(steps.Store(steps.ScratchArrays(scratch, shape.rows * pieces), id, values));
  }
  TF_RETURN_IF_ERROR(sequence.End(std::move(kernel), {{static_cast<uint64_t>(shape.rows * pieces)}, {1}}));
  return EmitCombinePieces(sequence, reduce, shape, scratch, pieces, /*piece_stride=*/1, /*row_stride=*/pieces);
}

// ---- The fastest dimension is kept: one result per work-item, side by side ----

// About the square root of the length, so that both launches read about as far: long columns run through too many pages
// of memory, and short ones leave much to combine.
int64_t PieceOfColumn(int64_t length) {
  constexpr int64_t kShortest = 32;
  int64_t piece = kShortest;
  while (piece * piece < length) piece *= 2;
  return length <= 2 * kShortest ? length : piece;
}

absl::Status EmitColumns(KernelSequence& sequence, const xla::HloInstruction& reduce, const ReductionShape& shape) {
  const int64_t piece = PieceOfColumn(shape.length);
  const int64_t pieces = CeilDiv(shape.length, piece);
  const bool whole = pieces == 1;
  const int64_t scratch = whole ? 0 : AddReductionScratch(sequence, reduce, shape.rows * pieces);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin(whole ? "" : "_pieces"));
  ReductionKernel steps(*kernel, reduce, shape);
  IndexMath& math = steps.math();
  TF_ASSIGN_OR_RETURN(
      LaunchDimensions launch,
      kernel->PerWorkItem(shape.rows * pieces, WorkItemCost::kLoop, [&](Value* id) -> absl::Status {
        Value* number = math.ToIndexType(id);
        Value* row = math.Rem(number, shape.rows);
        Value* first = math.Mul(math.Div(number, shape.rows), piece);
        Value* end = Minimum(steps, math.Add(first, piece), shape.length);
        TF_ASSIGN_OR_RETURN(const ReductionKernel::Values values, steps.Accumulate(row, first, end, math.Constant(1)));
        if (whole) return steps.Finish(row, values);
        return steps.Store(steps.ScratchArrays(scratch, shape.rows * pieces), number, values);
      }));
  TF_RETURN_IF_ERROR(sequence.End(std::move(kernel), std::move(launch)));
  if (whole) return absl::OkStatus();
  return EmitCombinePieces(sequence, reduce, shape, scratch, pieces, /*piece_stride=*/shape.rows, /*row_stride=*/1);
}

}  // namespace

absl::Status EmitCombinePieces(KernelSequence& sequence, const xla::HloInstruction& reduce, const ReductionShape& shape,
                               int64_t scratch, int64_t pieces, int64_t piece_stride, int64_t row_stride) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin("_combine"));
  ReductionKernel steps(*kernel, reduce, shape);
  IndexMath& math = steps.math();
  const std::vector<Array> parts = steps.ScratchArrays(scratch, shape.rows * pieces);
  TF_ASSIGN_OR_RETURN(
      LaunchDimensions launch, kernel->PerWorkItem(shape.rows, WorkItemCost::kLoop, [&](Value* id) -> absl::Status {
        Value* row = math.ToIndexType(id);
        Value* base = math.Mul(row, row_stride);
        TF_ASSIGN_OR_RETURN(const ReductionKernel::Values first, steps.Load(parts, base));
        std::vector<llvm::AllocaInst*> slots;
        for (Value* value : first) slots.push_back(kernel->Slot(value->getType(), value));
        const auto sums = [&] {
          ReductionKernel::Values values;
          for (llvm::AllocaInst* slot : slots) values.push_back(kernel->b().CreateLoad(slot->getAllocatedType(), slot));
          return values;
        };
        TF_RETURN_IF_ERROR(
            kernel->For(math.Constant(1), math.Constant(pieces), math.Constant(1), [&](Value* piece) -> absl::Status {
              TF_ASSIGN_OR_RETURN(const ReductionKernel::Values part,
                                  steps.Load(parts, math.Add(base, math.Mul(piece, piece_stride))));
              TF_ASSIGN_OR_RETURN(const ReductionKernel::Values combined, steps.Combine(sums(), part));
              for (size_t i = 0; i < slots.size(); ++i) kernel->b().CreateStore(combined[i], slots[i]);
              return absl::OkStatus();
            }));
        return steps.Finish(row, sums());
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
  if (shape.minor_kept > 1) return EmitColumns(sequence, reduce, shape);
  const int64_t wanted = WantedPieces(sequence.target());
  if (shape.rows >= wanted) return EmitRows(sequence, reduce, shape);
  // Shorter pieces cost more than the second launch gains.
  constexpr int64_t kShortest = 8192;
  const int64_t piece = std::max(kShortest, CeilDiv(shape.length, CeilDiv(wanted, shape.rows)));
  if (piece >= shape.length) return EmitRows(sequence, reduce, shape);
  return EmitCutRows(sequence, reduce, shape, piece);
}

}  // namespace onexpu::compiler
