#include "pjrt_core/compiler/passes/numerics/shared_value_rounding.h"

#include "pjrt_core/compiler/analysis/rounded_values.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace onexpu::compiler {
namespace {

bool IsComputed(const xla::HloInstruction& instruction) {
  return instruction.opcode() != xla::HloOpcode::kParameter &&
         instruction.opcode() != xla::HloOpcode::kConstant;
}

}  // namespace

absl::StatusOr<bool> SharedValueRounding::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (xla::HloInstruction* instruction : computation->instructions()) {
      if (!Is16BitFloat(instruction->shape().element_type()) || !IsComputed(*instruction) ||
          instruction->user_count() < 2) {
        continue;
      }
      SetRounded(*instruction);
      changed = true;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
