// Which intermediate results of a kernel need no rounding to their type. Pure functions.
#ifndef PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_EXCESS_PRECISION_H_
#define PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_EXCESS_PRECISION_H_

#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// Whether a bf16 or f16 result may stay in f32: all that use it are operations of the same kernel
// that compute in f32 and round themselves. As XLA does it for hosts and other GPUs, and unless
// xla_allow_excess_precision is off. What a program converts or stores is rounded, but for
// the weights of attention that is one kernel (passes/fusion/attention_fusion.h).
bool MayStayWide(const xla::HloInstruction& instruction);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_EXCESS_PRECISION_H_
