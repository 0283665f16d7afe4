// Which intermediate results of a kernel need no rounding to their type. Pure functions.
#ifndef PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_EXCESS_PRECISION_H_
#define PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_EXCESS_PRECISION_H_

#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// Whether a bf16 or f16 result may stay in f32: all its users are operations of the same kernel
// that compute in f32 and round themselves, and the program has no other user of the value
// (passes/numerics/shared_value_rounding.h). XLA does the same for CPUs and other GPUs, unless
// xla_allow_excess_precision is off. Values that a program converts or stores are rounded, except
// for the weights of an attention kernel (passes/fusion/attention_fusion.h).
bool MayStayWide(const xla::HloInstruction& instruction);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_EXCESS_PRECISION_H_
