#include "pjrt_core/compiler/passes/single_participant_collectives.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/program/status_macros.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"

namespace onexpu::compiler {
namespace {

bool IsIdentityAmongOne(xla::HloOpcode opcode) {
  switch (opcode) {
    case xla::HloOpcode::kAllReduce:
    case xla::HloOpcode::kAllGather:
    case xla::HloOpcode::kAllToAll:
    case xla::HloOpcode::kRaggedAllToAll:
    case xla::HloOpcode::kReduceScatter:
    case xla::HloOpcode::kCollectiveBroadcast:
      return true;
    default:
      return false;
  }
}

// What stands for the collective: its operands, in its own shape.
xla::HloInstruction* Operands(xla::HloInstruction& collective) {
  if (!collective.shape().IsTuple()) return collective.mutable_operand(0);
  return collective.parent()->AddInstruction(
      xla::HloInstruction::CreateTuple(collective.operands()));
}

// A participant that nobody sends to receives zeros.
xla::HloInstruction* Permuted(xla::HloInstruction& permute) {
  if (!permute.source_target_pairs().empty()) return permute.mutable_operand(0);
  xla::HloComputation& computation = *permute.parent();
  xla::HloInstruction* zero = computation.AddInstruction(
      xla::HloInstruction::CreateConstant(xla::LiteralUtil::Zero(permute.shape().element_type())));
  return computation.AddInstruction(
      xla::HloInstruction::CreateBroadcast(permute.shape(), zero, {}));
}

// Null when the instruction needs others, or is no collective.
xla::HloInstruction* Replacement(xla::HloInstruction& instruction) {
  const xla::HloOpcode opcode = instruction.opcode();
  if (IsIdentityAmongOne(opcode)) return Operands(instruction);
  if (opcode == xla::HloOpcode::kCollectivePermute && instruction.shape().IsArray()) {
    return Permuted(instruction);
  }
  if (opcode == xla::HloOpcode::kReplicaId || opcode == xla::HloOpcode::kPartitionId) {
    return instruction.parent()->AddInstruction(xla::HloInstruction::CreateConstant(
        xla::LiteralUtil::Zero(instruction.shape().element_type())));
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<bool> SingleParticipantCollectives::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (module->config().replica_count() > 1 || module->config().num_partitions() > 1) return false;
  bool changed = false;
  for (xla::HloComputation* computation : module->computations(execution_threads)) {
    for (xla::HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      xla::HloInstruction* replacement = Replacement(*instruction);
      if (replacement == nullptr) continue;
      ONEXPU_RETURN_IF_ERROR(instruction->ReplaceAllUsesWith(replacement));
      ONEXPU_RETURN_IF_ERROR(computation->RemoveInstructionAndUnusedOperands(instruction));
      changed = true;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
