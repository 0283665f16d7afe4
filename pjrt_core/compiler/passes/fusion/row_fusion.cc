#include "pjrt_core/compiler/passes/fusion/row_fusion.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/analysis/dot_queries.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/analysis/row_queries.h"
#include "pjrt_core/compiler/passes/fusion/fusible.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/hlo_cse.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;

bool IsPlainLoop(const HloInstruction& instruction) {
  if (instruction.opcode() != xla::HloOpcode::kFusion || !instruction.IsLoopFusion()) return false;
  return OneResultOf(instruction).IsElementwise() && !ContainsDot(instruction);
}

bool IsTakenBy(const HloInstruction& producer, const HloInstruction& consumer, int64_t number,
               const Rows& rows) {
  return producer.opcode() == xla::HloOpcode::kFusion && producer.user_count() == 1 &&
         !producer.IsRoot() && !ContainsDot(producer) &&
         consumer.operand_count() + producer.operand_count() <= kMaxKernelArguments &&
         GivesRows(consumer, rows) && StaysInItsRow(*consumer.fused_parameter(number), rows);
}

// The rows of `consumer` if its operand `number` is a reduction of them and has no other user.
std::optional<Rows> RowsReducedFor(const HloInstruction& consumer, int64_t number,
                                   const Target& target) {
  const HloInstruction& producer = *consumer.operand(number);
  const std::optional<Rows> rows = RowsOf(RootOf(producer));
  if (!rows || !ShouldUseRowSchedule(*rows, consumer, target)) return std::nullopt;
  return IsTakenBy(producer, consumer, number, *rows) ? rows : std::nullopt;
}

// Whether the operand `number` is elementwise work on the rows that `consumer` reduces, has no
// other user, and is cheap enough to be recomputed in every scan. Subtracts cached values from
// `bytes`.
bool PreparesRows(const HloInstruction& consumer, int64_t number, const Rows& rows,
                  int64_t& bytes) {
  // The rounds of a random generator are hundreds of instructions.
  constexpr int64_t kMaxRecomputedInstructions = 16;
  const HloInstruction& producer = *consumer.operand(number);
  if (!IsPlainLoop(producer) || !producer.shape().IsArray() || !GivesRows(producer, rows) ||
      producer.fused_instruction_count() > kMaxRecomputedInstructions ||
      !IsTakenBy(producer, consumer, number, rows)) {
    return false;
  }
  int64_t kept = 0;
  for (const HloInstruction* fused : producer.fused_instructions()) {
    if (fused->opcode() == xla::HloOpcode::kGather) return false;
    if (!IsTranscendental(fused->opcode())) continue;
    if (!StaysInItsRow(*fused, rows)) return false;
    kept += RowBytes(fused->shape().element_type(), rows);
  }
  if (kept > bytes) return false;
  bytes -= kept;
  return true;
}

// Merges into `consumer` what it takes; the producers.
absl::StatusOr<std::vector<HloInstruction*>> TakeIn(HloInstruction* consumer,
                                                    const Target& target) {
  std::vector<HloInstruction*> taken;
  std::optional<Rows> rows;  // once there is a reduction
  int64_t reductions = 0;
  int64_t bytes = RowBytesToKeep(target);
  for (int64_t number = 0; number < consumer->operand_count();) {
    std::optional<Rows> reduced = RowsReducedFor(*consumer, number, target);
    if (reductions == kMaxRowReductions || (rows && reduced && !AreTheSame(*rows, *reduced))) {
      reduced = std::nullopt;
    }
    if (!reduced && !(rows && PreparesRows(*consumer, number, *rows, bytes))) {
      ++number;
      continue;
    }
    if (reduced) {
      rows = reduced;
      ++reductions;
    }
    HloInstruction* producer = consumer->mutable_operand(number);
    consumer->MergeFusionInstruction(producer);
    taken.push_back(producer);
    ONEXPU_RETURN_IF_ERROR(consumer->parent()->RemoveInstruction(producer));
    number = 0;  // with it come those that it uses
  }
  return taken;
}

}  // namespace

absl::StatusOr<bool> RowFusion::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  xla::HloCSE cse(/*is_layout_sensitive=*/true);
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    if (!IsExecuted(*computation)) continue;
    std::vector<HloInstruction*> instructions = computation->MakeInstructionPostOrder();
    absl::flat_hash_set<const HloInstruction*> removed;
    for (auto next = instructions.rbegin(); next != instructions.rend(); ++next) {
      HloInstruction* consumer = *next;
      if (removed.contains(consumer) || !IsPlainLoop(*consumer)) continue;
      ONEXPU_ASSIGN_OR_RETURN(const std::vector<HloInstruction*> taken, TakeIn(consumer, target_));
      if (taken.empty()) continue;
      removed.insert(taken.begin(), taken.end());
      // What both had computed for themselves.
      ONEXPU_RETURN_IF_ERROR(
          cse.RunOnComputation(consumer->fused_instructions_computation()).status());
      changed = true;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
