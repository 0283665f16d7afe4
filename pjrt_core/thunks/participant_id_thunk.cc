#include "pjrt_core/thunks/participant_id_thunk.h"

namespace onexpu {

absl::StatusOr<std::unique_ptr<Thunk>> ParticipantIdThunk::Create(
    const program::Thunk& thunk, const program::ParticipantIdThunk& id, const LoadContext& load) {
  const uint32_t partitions = load.program.program().num_partitions();
  const uint32_t number = id.number() == program::ParticipantNumber::Replica
                              ? load.participant / partitions
                              : load.participant % partitions;
  return std::unique_ptr<Thunk>(new ParticipantIdThunk(thunk, id, number));
}

absl::Status ParticipantIdThunk::Execute(const ExecuteContext& context) {
  context.queue.fill(static_cast<uint32_t*>(context.allocations.Resolve(destination_)), number_, 1);
  return absl::OkStatus();
}

}  // namespace onexpu
