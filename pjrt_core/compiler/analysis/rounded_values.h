// A mark on bf16 and f16 instructions whose values are rounded to their type wherever they are
// computed. It survives cloning into fusions. Pure functions, except for SetRounded.
#ifndef PJRT_CORE_COMPILER_ANALYSIS_ROUNDED_VALUES_H_
#define PJRT_CORE_COMPILER_ANALYSIS_ROUNDED_VALUES_H_

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {

// Whether intermediate values of the type may stay in f32.
bool Is16BitFloat(xla::PrimitiveType type);

void SetRounded(xla::HloInstruction& instruction);

bool IsRounded(const xla::HloInstruction& instruction);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_ANALYSIS_ROUNDED_VALUES_H_
