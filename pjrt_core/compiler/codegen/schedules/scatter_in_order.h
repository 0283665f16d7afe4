// Scatter by work-items that run through the indices in order: deterministic, and as fast as
// atomics where elements that cannot meet are many or the indices few.
#ifndef PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCATTER_IN_ORDER_H_
#define PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCATTER_IN_ORDER_H_

#include "absl/status/status.h"
#include "pjrt_core/compiler/codegen/kernel/kernel_sequence.h"
#include "pjrt_core/compiler/codegen/schedules/scatter_kernel.h"
#include "pjrt_core/compiler/codegen/schedules/scatter_plan.h"
#include "xla/hlo/ir/hlo_instructions.h"

namespace onexpu::compiler {

// Before the first kernel of the sequence begins: the number of the scratch that the plan needs.
int64_t AddScatterScratch(KernelSequence& sequence, const xla::HloScatterInstruction& scatter,
                          const ScatterPlan& plan);

// The results hold the operands already.
absl::Status EmitScatterInOrder(KernelSequence& sequence, const xla::HloScatterInstruction& scatter,
                                const ScatterDimensions& dimensions, const ScatterPlan& plan,
                                int64_t scratch);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCATTER_IN_ORDER_H_
