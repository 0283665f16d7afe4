#include "pjrt_core/thunks/collective/participant_id_thunk.h"

#include <cstring>

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
  auto* const destination = static_cast<uint8_t*>(context.allocations.Resolve(destination_));
  uint8_t bytes[sizeof number_];
  std::memcpy(bytes, &number_, sizeof bytes);
  // Not `fill`: on Level Zero it launches a kernel that only a SYCL compiler builds, and crashes
  // without it.
  for (size_t begin = 0, end = 0; begin < sizeof bytes; begin = end) {
    while (end < sizeof bytes && bytes[end] == bytes[begin]) ++end;
    context.queue.memset(destination + begin, bytes[begin], end - begin);
  }
  return absl::OkStatus();
}

}  // namespace onexpu
