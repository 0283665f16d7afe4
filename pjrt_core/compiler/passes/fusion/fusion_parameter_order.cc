#include "pjrt_core/compiler/passes/fusion/fusion_parameter_order.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace onexpu::compiler {
namespace {

// The numbers of all parameters, in the order in which a walk from the root meets them.
std::vector<int64_t> ParametersAsMet(const xla::HloInstruction& fusion) {
  std::vector<int64_t> met;
  absl::flat_hash_set<const xla::HloInstruction*> seen = {fusion.fused_expression_root()};
  std::vector<const xla::HloInstruction*> next = {fusion.fused_expression_root()};
  while (!next.empty()) {
    const xla::HloInstruction* instruction = next.back();
    next.pop_back();
    if (instruction->opcode() == xla::HloOpcode::kParameter) {
      met.push_back(instruction->parameter_number());
    }
    for (const xla::HloInstruction* operand : instruction->operands()) {
      if (seen.insert(operand).second) next.push_back(operand);
    }
  }
  for (const xla::HloInstruction* parameter : fusion.fused_parameters()) {
    if (!seen.contains(parameter)) met.push_back(parameter->parameter_number());
  }
  return met;
}

absl::Status Reorder(const std::vector<int64_t>& order, xla::HloInstruction* fusion) {
  std::vector<xla::HloInstruction*> operands;
  absl::flat_hash_map<const xla::HloInstruction*, std::unique_ptr<xla::HloInstruction>> parameters;
  for (const int64_t number : order) {
    const xla::HloInstruction* parameter = fusion->fused_parameter(number);
    parameters[parameter] = xla::HloInstruction::CreateParameter(
        static_cast<int64_t>(operands.size()), parameter->shape(), parameter->name());
    operands.push_back(fusion->mutable_operand(number));
  }
  xla::HloComputation* computation = fusion->GetModule()->AddEmbeddedComputation(
      fusion->fused_instructions_computation()->CloneWithReplacements(&parameters));
  std::unique_ptr<xla::HloInstruction> reordered = xla::HloInstruction::CreateFusion(
      fusion->shape(), fusion->fusion_kind(), operands, computation);
  fusion->SetupDerivedInstruction(reordered.get());
  return fusion->parent()->ReplaceWithNewInstruction(fusion, std::move(reordered));
}

}  // namespace

absl::StatusOr<bool> FusionParameterOrder::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (xla::HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      if (instruction->opcode() != xla::HloOpcode::kFusion) continue;
      const std::vector<int64_t> order = ParametersAsMet(*instruction);
      if (absl::c_is_sorted(order)) continue;
      ONEXPU_RETURN_IF_ERROR(Reorder(order, instruction));
      changed = true;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
