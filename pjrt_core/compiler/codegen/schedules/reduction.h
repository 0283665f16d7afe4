// Schedules for a kReduce (alone or as a fusion's root), by the kind of the device. Any reducer,
// any number of values.
#ifndef PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_REDUCTION_H_
#define PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_REDUCTION_H_

#include "absl/status/status.h"
#include "pjrt_core/compiler/codegen/kernel/kernel_sequence.h"
#include "pjrt_core/compiler/codegen/schedules/reduction_kernel.h"

namespace onexpu::compiler {

// Whether the schedule below does better than one plain work-item per result.
bool IsReductionForCpu(const ReductionShape& shape);
bool IsReductionForGpu(const xla::HloInstruction& reduce, const ReductionShape& shape,
                       const Target& target);

absl::Status EmitReductionForCpu(KernelSequence& sequence, const xla::HloInstruction& reduce,
                                 const ReductionShape& shape);
absl::Status EmitReductionForGpu(KernelSequence& sequence, const xla::HloInstruction& reduce,
                                 const ReductionShape& shape);

// The second launch of a reduction that was cut: each result's `pieces` values in scratch memory,
// at row * row_stride + piece * piece_stride.
absl::Status EmitCombinePieces(KernelSequence& sequence, const xla::HloInstruction& reduce,
                               const ReductionShape& shape, int64_t scratch, int64_t pieces,
                               int64_t piece_stride, int64_t row_stride);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_REDUCTION_H_
