// The schedules: how an instruction is mapped to work-items. One file each; schedule_selector.cc
// chooses.
#ifndef PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCHEDULES_H_
#define PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCHEDULES_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/compiler/codegen/kernel/kernel_sequence.h"

namespace onexpu::compiler {

// One element of the result per work-item, whatever the operation; results of different dimensions,
// and updates in place, get kernels of their own.
absl::Status EmitLoop(KernelSequence& sequence);

// One element per work-item, along the rows of the result. For a root that is one kConcatenate.
absl::StatusOr<LaunchDimensions> EmitConcatenate(FusionContext& kernel);

// Blocks of rows for dots with elementwise work on them, on a CPU. False when there is nothing of
// the kind, or something else is better.
absl::StatusOr<bool> EmitDots(KernelSequence& sequence);

// What IsAttention holds for; on a CPU.
absl::StatusOr<LaunchDimensions> EmitAttention(FusionContext& kernel);

// kFft over the last dimension, of the lengths and types of IsFftKernel, or a tuple of several that
// are alike; on a CPU.
absl::StatusOr<LaunchDimensions> EmitFft(FusionContext& kernel);

// Tiles, for a root that reads memory along another dimension than it writes, through elementwise
// operations alone.
// EmitLoop for any other.
absl::Status EmitTranspositionOrLoop(KernelSequence& sequence);

// kRngGetAndUpdateState: one work-item and 128 bits of state.
absl::Status EmitRngState(KernelSequence& sequence);

// kReduce: any reducer, several values at once.
absl::Status EmitReduction(KernelSequence& sequence);

// Reductions of rows, and elementwise work with their results on the same rows. False for any other
// fusion.
absl::StatusOr<bool> EmitRowFusion(KernelSequence& sequence);

// kReduceWindow that computes running results along many lines; a line per work-item, on a CPU.
bool IsScan(const xla::HloInstruction& root);
absl::StatusOr<LaunchDimensions> EmitScan(FusionContext& kernel);

// kSort: any comparator, any dimension; always stable.
absl::Status EmitSort(KernelSequence& sequence);

// What FindSortOfTopK holds for: the first elements of sorted rows, selected instead of sorted.
absl::Status EmitTopK(KernelSequence& sequence);

// kScatter: any combiner, any number of operands; in place where the operand's memory is the
// result's.
absl::Status EmitScatter(KernelSequence& sequence);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_SCHEDULES_H_
