#include "pjrt_core/compiler/passes/fusion/fusion_wrapper.h"

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/passes/fusion/fusible.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"

namespace onexpu::compiler {
namespace {

bool IsMemoryCopy(const xla::HloInstruction& instruction) {
  return instruction.opcode() == xla::HloOpcode::kCopy &&
         xla::LayoutUtil::LayoutsInShapesEqual(instruction.shape(),
                                               instruction.operand(0)->shape());
}

bool NeedsWrapping(const xla::HloInstruction& instruction) {
  return instruction.opcode() != xla::HloOpcode::kFusion && !IsFree(instruction) &&
         IsFusible(instruction) && !IsMemoryCopy(instruction);
}

}  // namespace

absl::StatusOr<bool> FusionWrapper::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    if (!IsExecuted(*computation)) continue;
    for (xla::HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      if (!NeedsWrapping(*instruction)) continue;
      xla::HloInstruction* fusion =
          computation->CreateFusionInstruction({instruction}, FusionKindOf(*instruction));
      fusion->set_metadata(fusion->fused_expression_root()->metadata());
      changed = true;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
