// Which instructions can be part of a kernel, and what they are there. One place for all fusion
// passes. Pure functions.
#ifndef PJRT_CORE_COMPILER_PASSES_FUSION_FUSIBLE_H_
#define PJRT_CORE_COMPILER_PASSES_FUSION_FUSIBLE_H_

#include <cstdint>

#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// A kernel takes at most this many pointers: OpenCL guarantees 1024 bytes of arguments.
inline constexpr int64_t kMaxKernelArguments = 96;

// Code generation has it as a part of a fusion.
bool IsFusible(const xla::HloInstruction& instruction);

// Whether its users can compute its elements: it can be in a fusion without being the root.
bool IsFusibleProducer(const xla::HloInstruction& instruction);

// kLoop or kInput (reductions), by the operation at the root.
xla::HloInstruction::FusionKind FusionKindOf(const xla::HloInstruction& root);

// A result whose elements are computed each by itself, by no schedule of its own: kernels of such
// can be one.
bool IsPlainLoopRoot(const xla::HloInstruction& root);

// A kWhile, kConditional or kCall, whose computations are executed.
bool IsControlFlow(const xla::HloInstruction& instruction);

// Whether its instructions run as a sequence of thunks: an entry, a loop, a branch; not a reducer
// or a comparator, which are inlined into their callers.
bool IsExecuted(const xla::HloComputation& computation);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_FUSION_FUSIBLE_H_
