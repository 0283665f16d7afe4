// Sums as passes look for them. Pure functions.
#ifndef PJRT_CORE_COMPILER_PASSES_NUMERICS_PLAIN_SUM_H_
#define PJRT_CORE_COMPILER_PASSES_NUMERICS_PLAIN_SUM_H_

#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// Whether the instruction adds up one array, from zero.
bool IsPlainSum(const xla::HloInstruction& instruction);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_NUMERICS_PLAIN_SUM_H_
