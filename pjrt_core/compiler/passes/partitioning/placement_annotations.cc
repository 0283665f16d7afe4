#include "pjrt_core/compiler/passes/partitioning/placement_annotations.h"

#include "pjrt_core/base/status_macros.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"

namespace onexpu::compiler {

absl::StatusOr<bool> PlacementAnnotations::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->computations(execution_threads)) {
    for (xla::HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      if (!instruction->IsCustomCall("annotate_device_placement")) continue;
      // It is marked as having a side effect, so that other passes do not remove it.
      xla::Cast<xla::HloCustomCallInstruction>(instruction)->set_custom_call_has_side_effect(false);
      ONEXPU_RETURN_IF_ERROR(
          computation->ReplaceInstruction(instruction, instruction->mutable_operand(0)));
      changed = true;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
