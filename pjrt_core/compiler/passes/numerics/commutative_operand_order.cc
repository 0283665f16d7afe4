#include "pjrt_core/compiler/passes/numerics/commutative_operand_order.h"

#include <algorithm>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "tsl/platform/fingerprint.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

// A number for what an instruction computes from its parameters, whatever their numbers: the same
// in every process, because it decides what a compiled program looks like. Attributes are left out;
// what differs in them alone stays as it was written.
uint64_t Structure(const xla::HloInstruction& instruction,
                   const absl::flat_hash_map<const xla::HloInstruction*, uint64_t>& known) {
  uint64_t result = tsl::FingerprintCat64(
      static_cast<uint64_t>(instruction.opcode()),
      tsl::Fingerprint64(xla::ShapeUtil::HumanStringWithLayout(instruction.shape())));
  for (const xla::HloInstruction* operand : instruction.operands())
    result = tsl::FingerprintCat64(result, known.at(operand));
  return result;
}

absl::StatusOr<bool> OrderOperands(xla::HloComputation& computation) {
  bool changed = false;
  absl::flat_hash_map<const xla::HloInstruction*, uint64_t> structures;
  for (xla::HloInstruction* instruction : computation.MakeInstructionPostOrder()) {
    if (xla::HloOpcodeIsBinaryCommutative(instruction->opcode())) {
      xla::HloInstruction* const left = instruction->mutable_operand(0);
      xla::HloInstruction* const right = instruction->mutable_operand(1);
      if (structures.at(left) > structures.at(right)) {
        ONEXPU_RETURN_IF_ERROR(instruction->ReplaceOperandWith(0, right));
        ONEXPU_RETURN_IF_ERROR(instruction->ReplaceOperandWith(1, left));
        changed = true;
      }
    }
    structures.emplace(instruction, Structure(*instruction, structures));
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> CommutativeOperandOrder::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (xla::HloInstruction* instruction : computation->instructions()) {
      if (instruction->opcode() != xla::HloOpcode::kFusion) continue;
      ONEXPU_ASSIGN_OR_RETURN(const bool ordered,
                              OrderOperands(*instruction->fused_instructions_computation()));
      changed |= ordered;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
