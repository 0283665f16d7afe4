#include "pjrt_core/compiler/passes/onednn/early_library_call.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/passes/onednn/library_call.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_schedule.h"

namespace onexpu::compiler {
namespace {

// Of data and of control, the call itself included.
absl::flat_hash_set<const xla::HloInstruction*> WhatItNeeds(const xla::HloInstruction* call) {
  absl::flat_hash_set<const xla::HloInstruction*> needed = {call};
  std::vector<const xla::HloInstruction*> pending = {call};
  const auto add = [&](const xla::HloInstruction* instruction) {
    if (needed.insert(instruction).second) pending.push_back(instruction);
  };
  while (!pending.empty()) {
    const xla::HloInstruction* instruction = pending.back();
    pending.pop_back();
    for (const xla::HloInstruction* operand : instruction->operands()) add(operand);
    for (const xla::HloInstruction* before : instruction->control_predecessors()) add(before);
  }
  return needed;
}

}  // namespace

absl::StatusOr<bool> EarlyLibraryCall::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (!module->has_schedule()) {
    return absl::FailedPreconditionError("onexpu: early-library-call before the scheduler");
  }
  const xla::HloComputation* entry = module->entry_computation();
  const std::vector<xla::HloInstruction*>& order =
      module->schedule().sequence(entry).instructions();
  const auto first = std::find_if(order.begin(), order.end(), [](const auto* instruction) {
    return IsLibraryCall(*instruction);
  });
  if (first == order.end()) return false;
  const absl::flat_hash_set<const xla::HloInstruction*> needed = WhatItNeeds(*first);
  // What stays behind has no memory that the call waits for: its result only lives a little longer.
  std::vector<xla::HloInstruction*> early, behind;
  for (auto i = order.begin(); i <= first; ++i) {
    const bool is_early = (*i)->opcode() == xla::HloOpcode::kParameter || needed.contains(*i);
    (is_early ? early : behind).push_back(*i);
  }
  if (behind.empty()) return false;
  early.insert(early.end(), behind.begin(), behind.end());
  early.insert(early.end(), first + 1, order.end());
  module->schedule().set_sequence(entry, std::move(early));
  return true;
}

}  // namespace onexpu::compiler
