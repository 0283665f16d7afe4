#include "pjrt_core/compiler/codegen/schedules/reduction.h"

#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/codegen/schedules/schedules.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {

absl::Status EmitReduction(KernelSequence& sequence) {
  const xla::HloInstruction& reduce = RootOf(sequence.instruction());
  if (xla::ShapeUtil::IsZeroElementArray(reduce.operand(0)->shape())) return EmitLoop(sequence);
  const ReductionShape shape(reduce);
  // One work-item computes a result element by element, in the order of the indices.
  if (TakesShares(shape) && !shape.is_ascending) return EmitLoop(sequence);
  const bool in_groups = sequence.target().schedules->reduces_in_work_groups;
  const bool has_schedule =
      in_groups ? IsReductionForGpu(reduce, shape, sequence.target()) : IsReductionForCpu(shape);
  if (!has_schedule) return EmitLoop(sequence);
  return in_groups ? EmitReductionForGpu(sequence, reduce, shape)
                   : EmitReductionForCpu(sequence, reduce, shape);
}

}  // namespace onexpu::compiler
