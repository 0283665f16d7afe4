// Which schedule maps an instruction to work-items: decided by its root operation and the target.
#ifndef PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCHEDULE_SELECTOR_H_
#define PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCHEDULE_SELECTOR_H_

#include "absl/status/status.h"
#include "pjrt_core/compiler/codegen/kernel/kernel_sequence.h"

namespace onexpu::compiler {

// Emits all kernels of the sequence's instruction. Schedules are functions of one of two forms, one
// file each:
//   absl::StatusOr<LaunchDimensions> EmitXxx(FusionContext& kernel);   one kernel
//   absl::Status EmitXxx(KernelSequence& sequence);                    several
absl::Status EmitWithSchedule(KernelSequence& sequence);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCHEDULE_SELECTOR_H_
