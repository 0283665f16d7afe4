#include "pjrt_core/program/verify_collectives.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/program/verify_memory.h"

namespace onexpu::program {
namespace {

uint64_t Participants(const Program& program) {
  return static_cast<uint64_t>(program.num_replicas()) * program.num_partitions();
}

absl::Status VerifyNumbers(const Program& program, const ParticipantGroup& group,
                           absl::string_view where) {
  for (const uint32_t participant : *group.participants()) {
    if (participant < Participants(program)) continue;
    return VerifyError(where, absl::StrCat("participant ", participant, " does not exist"));
  }
  return absl::OkStatus();
}

// Every participant is in one group, once, and all groups have one size, which is returned.
absl::StatusOr<uint64_t> VerifyGroups(const Program& program, const CollectiveThunk& thunk,
                                      absl::string_view where) {
  std::vector<bool> seen(Participants(program), false);
  uint64_t members = 0;
  for (const ParticipantGroup* group : *thunk.groups()) {
    ONEXPU_RETURN_IF_ERROR(VerifyNumbers(program, *group, where));
    if (group->participants()->size() != thunk.groups()->Get(0)->participants()->size()) {
      return VerifyError(where, "groups of different size");
    }
    for (const uint32_t participant : *group->participants()) {
      if (seen[participant]) return VerifyError(where, "a participant is in two places");
      seen[participant] = true;
      ++members;
    }
  }
  if (members != seen.size()) return VerifyError(where, "a participant is in no group");
  return thunk.groups()->Get(0)->participants()->size();
}

absl::Status VerifyPairs(const Program& program, const CollectiveThunk& thunk,
                         absl::string_view where) {
  std::vector<bool> sends(Participants(program), false);
  std::vector<bool> receives(Participants(program), false);
  for (const ParticipantGroup* pair : *thunk.groups()) {
    ONEXPU_RETURN_IF_ERROR(VerifyNumbers(program, *pair, where));
    if (pair->participants()->size() != 2) {
      return VerifyError(where, "a sender and a receiver are two participants");
    }
    const uint32_t sender = pair->participants()->Get(0);
    const uint32_t receiver = pair->participants()->Get(1);
    if (sends[sender] || receives[receiver]) {
      return VerifyError(where, "a participant sends or receives twice");
    }
    sends[sender] = true;
    receives[receiver] = true;
  }
  return absl::OkStatus();
}

// Others read the source while the destination is written.
bool Overlap(const Slice& a, const Slice& b) {
  return a.allocation() == b.allocation() && a.offset() < b.offset() + b.size() &&
         b.offset() < a.offset() + a.size();
}

}  // namespace

absl::Status VerifyCollective(const Program& program, const CollectiveThunk& thunk,
                              absl::string_view where) {
  ONEXPU_RETURN_IF_ERROR(VerifySlice(program, *thunk.source(), where));
  ONEXPU_RETURN_IF_ERROR(VerifySlice(program, *thunk.destination(), where));
  const uint64_t source = thunk.source()->size();
  const uint64_t destination = thunk.destination()->size();
  if (Overlap(*thunk.source(), *thunk.destination())) {
    return VerifyError(where, "the source and the destination overlap");
  }
  uint64_t wanted = source;
  switch (thunk.kind()) {
    case CollectiveKind::AllGather: {
      ONEXPU_ASSIGN_OR_RETURN(const uint64_t size, VerifyGroups(program, thunk, where));
      if (__builtin_mul_overflow(source, size, &wanted)) {
        return VerifyError(where, "the group's bytes pass 64 bits");
      }
      break;
    }
    case CollectiveKind::AllToAll: {
      ONEXPU_ASSIGN_OR_RETURN(const uint64_t size, VerifyGroups(program, thunk, where));
      if (source % size != 0) return VerifyError(where, "the source has no equal parts");
      break;
    }
    case CollectiveKind::Broadcast:
      ONEXPU_RETURN_IF_ERROR(VerifyGroups(program, thunk, where).status());
      break;
    case CollectiveKind::Permute:
      ONEXPU_RETURN_IF_ERROR(VerifyPairs(program, thunk, where));
      break;
    default:
      return VerifyError(where, "unknown kind of collective");
  }
  if (destination != wanted) {
    return VerifyError(
        where, absl::StrCat("the destination has ", destination, " bytes and gets ", wanted));
  }
  return absl::OkStatus();
}

absl::Status VerifyParticipantId(const Program& program, const ParticipantIdThunk& thunk,
                                 absl::string_view where) {
  if (thunk.number() > ParticipantNumber::MAX) {
    return VerifyError(where, "unknown number of a participant");
  }
  ONEXPU_RETURN_IF_ERROR(VerifySlice(program, *thunk.destination(), where));
  if (thunk.destination()->size() != sizeof(uint32_t)) {
    return VerifyError(where, "a participant's number has four bytes");
  }
  return absl::OkStatus();
}

}  // namespace onexpu::program
