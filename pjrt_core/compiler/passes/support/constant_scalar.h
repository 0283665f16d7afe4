// Constants that are one number. Stateless.
#ifndef PJRT_CORE_COMPILER_PASSES_SUPPORT_CONSTANT_SCALAR_H_
#define PJRT_CORE_COMPILER_PASSES_SUPPORT_CONSTANT_SCALAR_H_

#include <optional>

#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// The scalar that every element of `value` is, if that is a constant. Not rounded to the type of
// `value`.
std::optional<double> ConstantScalar(const xla::HloInstruction& value);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_SUPPORT_CONSTANT_SCALAR_H_
