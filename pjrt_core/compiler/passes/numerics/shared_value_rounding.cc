#include "pjrt_core/compiler/passes/numerics/shared_value_rounding.h"

#include "pjrt_core/compiler/analysis/rounded_values.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

bool IsNarrow(const xla::HloInstruction& instruction) {
  const xla::PrimitiveType type = instruction.shape().element_type();
  return type == xla::BF16 || type == xla::F16;
}

}  // namespace

absl::StatusOr<bool> SharedValueRounding::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (xla::HloInstruction* instruction : computation->instructions()) {
      if (!IsNarrow(*instruction) || instruction->user_count() < 2) continue;
      SetRounded(*instruction);
      changed = true;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
