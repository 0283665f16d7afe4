// The custom calls that stand for what devices that run one module together exchange: their
// targets, and who is in a group with whom. Written by CollectiveExpander, read by emit/. Pure
// functions.
#ifndef PJRT_CORE_COMPILER_PASSES_COLLECTIVES_COLLECTIVE_CALL_H_
#define PJRT_CORE_COMPILER_PASSES_COLLECTIVES_COLLECTIVE_CALL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/program/program_generated.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

inline constexpr absl::string_view kParticipantIdTarget = "onexpu-participant-id";

// Numbers of participants: replica * num_partitions + partition.
using ParticipantGroups = std::vector<std::vector<int64_t>>;

// The target and the text of a call's groups.
absl::string_view CollectiveTarget(program::CollectiveKind kind);
std::string ToText(const ParticipantGroups& groups);

bool IsCollectiveCall(const xla::HloInstruction& instruction);
bool IsParticipantId(const xla::HloInstruction& instruction);

// The thunk of a collective call, without its slices.
absl::StatusOr<program::CollectiveThunkT> CollectiveOf(const xla::HloInstruction& call);
program::ParticipantIdThunkT ParticipantIdOf(const xla::HloInstruction& call);

// The text of an id's call.
std::string ToText(program::ParticipantNumber number);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_COLLECTIVES_COLLECTIVE_CALL_H_
