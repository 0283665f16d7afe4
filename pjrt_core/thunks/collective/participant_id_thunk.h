// Writes the number of the replica or partition that the device is in this Program.
//
// Thread-safe after creation; borrows the device memory.
#ifndef PJRT_CORE_THUNKS_COLLECTIVE_PARTICIPANT_ID_THUNK_H_
#define PJRT_CORE_THUNKS_COLLECTIVE_PARTICIPANT_ID_THUNK_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class ParticipantIdThunk final : public Thunk {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::ParticipantIdThunk& id,
                                                       const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override;
  absl::string_view kind() const override { return "participant id"; }

 private:
  ParticipantIdThunk(const program::Thunk& thunk, const program::ParticipantIdThunk& id,
                     uint32_t number)
      : Thunk(thunk.op_name()->str(), thunk.source()->str()),
        destination_(*id.destination()),
        number_(number) {}

  const program::Slice destination_;
  const uint32_t number_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_COLLECTIVE_PARTICIPANT_ID_THUNK_H_
