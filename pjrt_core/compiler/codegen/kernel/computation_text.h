// What makes two instructions the same work: their computation, shapes and layouts, without any
// name. Pure function.
#ifndef PJRT_CORE_COMPILER_CODEGEN_KERNEL_COMPUTATION_TEXT_H_
#define PJRT_CORE_COMPILER_CODEGEN_KERNEL_COMPUTATION_TEXT_H_

#include <string>

#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// Equal for two instructions only if kernels written for one compute the other, given buffers that
// alias alike.
std::string ComputationText(const xla::HloInstruction& instruction);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_KERNEL_COMPUTATION_TEXT_H_
