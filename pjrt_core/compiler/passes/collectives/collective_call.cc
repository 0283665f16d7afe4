#include "pjrt_core/compiler/passes/collectives/collective_call.h"

#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "pjrt_core/compiler/analysis/call_settings.h"

namespace onexpu::compiler {
namespace {

constexpr absl::string_view kTargets[] = {"onexpu-all-gather", "onexpu-all-to-all",
                                          "onexpu-permute", "onexpu-broadcast"};
constexpr absl::string_view kReplica = "replica";

std::optional<program::CollectiveKind> KindOf(const xla::HloInstruction& instruction) {
  for (size_t kind = 0; kind < std::size(kTargets); ++kind) {
    if (HasTarget(instruction, kTargets[kind])) return static_cast<program::CollectiveKind>(kind);
  }
  return std::nullopt;
}

}  // namespace

absl::string_view CollectiveTarget(program::CollectiveKind kind) {
  return kTargets[static_cast<size_t>(kind)];
}

std::string ToText(const ParticipantGroups& groups) {
  return absl::StrJoin(groups, ";", [](std::string* out, const std::vector<int64_t>& group) {
    absl::StrAppend(out, absl::StrJoin(group, ","));
  });
}

std::string ToText(program::ParticipantNumber number) {
  return number == program::ParticipantNumber::Replica ? std::string(kReplica) : "partition";
}

bool IsCollectiveCall(const xla::HloInstruction& instruction) {
  return KindOf(instruction).has_value();
}

bool IsParticipantId(const xla::HloInstruction& instruction) {
  return HasTarget(instruction, kParticipantIdTarget);
}

absl::StatusOr<program::CollectiveThunkT> CollectiveOf(const xla::HloInstruction& call) {
  program::CollectiveThunkT table;
  table.kind = KindOf(call).value();
  for (const absl::string_view text :
       absl::StrSplit(call.raw_backend_config_string(), ';', absl::SkipEmpty())) {
    auto group = std::make_unique<program::ParticipantGroupT>();
    for (const absl::string_view number : absl::StrSplit(text, ',')) {
      uint32_t participant = 0;
      if (!absl::SimpleAtoi(number, &participant)) {
        return absl::InternalError(absl::StrCat("no list of participants: ", text));
      }
      group->participants.push_back(participant);
    }
    table.groups.push_back(std::move(group));
  }
  return table;
}

program::ParticipantIdThunkT ParticipantIdOf(const xla::HloInstruction& call) {
  program::ParticipantIdThunkT table;
  table.number = call.raw_backend_config_string() == kReplica
                     ? program::ParticipantNumber::Replica
                     : program::ParticipantNumber::Partition;
  return table;
}

}  // namespace onexpu::compiler
