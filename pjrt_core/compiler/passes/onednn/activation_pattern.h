// Recognises activation functions in the operations that frameworks write for them, as XLA's
// simplifier leaves these. Pure functions.
#ifndef PJRT_CORE_COMPILER_PASSES_ONEDNN_ACTIVATION_PATTERN_H_
#define PJRT_CORE_COMPILER_PASSES_ONEDNN_ACTIVATION_PATTERN_H_

#include <optional>

#include "pjrt_core/program/program_generated.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// result = activation(value)
struct ActivationPattern {
  program::Activation activation = program::Activation::None;
  float alpha = 0;  // of LeakyRelu and Elu
  xla::HloInstruction* result = nullptr;
};

// The activation that `value` is computed for: nothing that is not part of it reads `value`, or
// what lies between. Knows ReLU, leaky ReLU, ELU, GELU with tanh, tanh, logistic and swish; each
// gives NaN for NaN.
std::optional<ActivationPattern> FindActivation(const xla::HloInstruction& value);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_ONEDNN_ACTIVATION_PATTERN_H_
