#include "pjrt_core/compiler/passes/control_flow/trip_counts.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "pjrt_core/compiler/analysis/loop_counter.h"
#include "xla/hlo/analysis/while_loop_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

using ::xla::HloInstruction;
using ::xla::HloOpcode;
using ExecutionThreads = absl::flat_hash_set<absl::string_view>;

std::vector<HloInstruction*> Loops(xla::HloModule& module, const ExecutionThreads& threads) {
  std::vector<HloInstruction*> loops;
  for (xla::HloComputation* computation : module.MakeNonfusionComputations(threads)) {
    for (HloInstruction* instruction : computation->instructions()) {
      if (instruction->opcode() == HloOpcode::kWhile) loops.push_back(instruction);
    }
  }
  return loops;
}

std::optional<int64_t> ExactTripCount(const HloInstruction& loop, int64_t counter) {
  const std::optional<LoopCounter> found = FindLoopCounter(loop, counter);
  return found ? TripCount(*found) : std::nullopt;
}

absl::Status HideElement(xla::HloComputation& condition, int64_t tuple_index) {
  for (HloInstruction* element : condition.parameter_instruction(0)->users()) {
    if (element->opcode() != HloOpcode::kGetTupleElement || element->tuple_index() != tuple_index) {
      continue;
    }
    const std::vector<HloInstruction*> users = element->users();
    HloInstruction* barrier = condition.AddInstruction(
        HloInstruction::CreateUnary(element->shape(), HloOpcode::kOptimizationBarrier, element));
    for (HloInstruction* user : users) {
      TF_RETURN_IF_ERROR(element->ReplaceUseWith(user, barrier));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> WrappingCounterGuard::RunImpl(xla::HloModule* module,
                                                   const ExecutionThreads& execution_threads) {
  bool changed = false;
  for (const HloInstruction* loop : Loops(*module, execution_threads)) {
    const std::optional<int64_t> counter = xla::GetLoopInductionVarTupleIdx(loop);
    if (!counter) continue;
    // Without iterations at compile time, XLA's answer is 0, which is always right, or that of its
    // pattern.
    const std::optional<int64_t> trips =
        xla::ComputeWhileLoopTripCount(loop, /*max_brute_force_iters=*/0);
    if (!trips || *trips == 0 || trips == ExactTripCount(*loop, *counter)) continue;
    TF_RETURN_IF_ERROR(HideElement(*loop->while_condition(), *counter));
    changed = true;
  }
  return changed;
}

absl::StatusOr<bool> TripCountVerifier::RunImpl(xla::HloModule* module,
                                                const ExecutionThreads& execution_threads) {
  bool changed = false;
  for (HloInstruction* loop : Loops(*module, execution_threads)) {
    TF_ASSIGN_OR_RETURN(xla::WhileLoopBackendConfig config,
                        loop->backend_config<xla::WhileLoopBackendConfig>());
    if (!config.has_known_trip_count() || config.known_trip_count().n() == 0) continue;
    if (!config.has_known_induction_variable()) continue;
    const std::optional<LoopCounter> counter =
        FindLoopCounter(*loop, config.known_induction_variable().tuple_index());
    // XLA executes the conditions and updates of counters of other forms to count their trips.
    if (!counter && !config.has_known_init_step()) continue;
    if (counter && TripCount(*counter) == config.known_trip_count().n()) continue;
    config.clear_known_trip_count();
    config.clear_known_init_step();
    TF_RETURN_IF_ERROR(loop->set_backend_config(config));
    changed = true;
  }
  return changed;
}

}  // namespace onexpu::compiler
