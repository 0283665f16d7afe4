// Exchanges slices with the other devices that run the same Program: every receiver copies what it
// wants out of the senders' memory, on its own queue, behind an event of theirs.
//
// Thread-safe after creation. blocks(): on the host, the participants wait for each other's
// launchers, never for a device.
#ifndef PJRT_CORE_THUNKS_COLLECTIVE_COLLECTIVE_THUNK_H_
#define PJRT_CORE_THUNKS_COLLECTIVE_COLLECTIVE_THUNK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/collective/rendezvous.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class CollectiveThunk final : public Thunk {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::CollectiveThunk& collective,
                                                       const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override;
  bool blocks() const override { return true; }
  int64_t commands() const override { return static_cast<int64_t>(group_.size()) + 2; }
  absl::string_view kind() const override { return "collective"; }

 private:
  CollectiveThunk(const program::Thunk& thunk, const program::CollectiveThunk& collective)
      : Thunk(thunk.op_name()->str(), thunk.source()->str()),
        key_(&collective),
        kind_(collective.kind()),
        source_(*collective.source()),
        destination_(*collective.destination()) {}

  absl::StatusOr<Rendezvous::Message> Send(const ExecuteContext& context, const char* source) const;
  // Copies what this participant receives.
  absl::Status Receive(sycl::queue& queue, char* destination,
                       absl::Span<const Rendezvous::Message> senders) const;

  const void* const key_;  // the Program's table: the same for all participants
  const program::CollectiveKind kind_;
  const program::Slice source_;
  const program::Slice destination_;
  std::vector<uint32_t> group_;  // that exchange messages; for a permutation all who take part
  size_t place_ = 0;             // in the group
  int64_t sender_ = -1;          // of a permutation: its index in the group; -1 for none
  bool sends_ = true;            // whether the others need this participant's data
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_COLLECTIVE_COLLECTIVE_THUNK_H_
