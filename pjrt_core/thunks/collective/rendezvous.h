// Where the devices that run a Program together meet, on their launchers' threads.
//
// One per run, shared by its participants; thread-safe. Participants exchange addresses and events,
// and do not wait for a device here: queues wait for the events, or the host does for events of
// another context. A participant that fails or ends early ends the wait of the others with its
// error.
#ifndef PJRT_CORE_THUNKS_COLLECTIVE_RENDEZVOUS_H_
#define PJRT_CORE_THUNKS_COLLECTIVE_RENDEZVOUS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "pjrt_core/device/device.h"
#include "sycl/sycl.hpp"

namespace onexpu {

class Rendezvous {
 public:
  // What a participant tells its group: where its data is, and from when on.
  struct Message {
    const char* address = nullptr;
    std::optional<sycl::event> event;
    // If the devices do not copy directly: `address` is in staging memory, which is filled chunk by
    // chunk.
    std::shared_ptr<StagingMemory> staging;
    std::vector<sycl::event> chunks;
  };
  enum class Purpose {
    kShare,   // fails as soon as any participant of the run has failed
    kFinish,  // waits for all of the group that have not left: memory is in use until then
  };

  // `copies_directly`: each participant's device copies from the memory of all others.
  explicit Rendezvous(int num_participants, bool copies_directly = true)
      : copies_directly_(copies_directly), has_left_(num_participants, false) {}

  bool copies_directly() const { return copies_directly_; }

  // Leaves `message` for the group and takes those of all of it, in its order. `key` is the same
  // for all, and for no other exchange of theirs that is under way. `place` is the caller's.
  absl::StatusOr<std::vector<Message>> Meet(const void* key, Purpose purpose,
                                            absl::Span<const uint32_t> group, size_t place,
                                            Message message);

  // The participant will not come any more: its work has been submitted, or has failed.
  void Leave(uint32_t participant, const absl::Status& status);

 private:
  struct Meeting {
    std::vector<Message> messages;
    std::vector<bool> has_come;
    size_t taken = 0;
    absl::Status failure;  // for all of the group, or for none
  };
  using Key = std::tuple<const void*, Purpose, uint32_t>;  // the last is the group's first

  // Whether all participants have arrived, or one cannot.
  bool HasEnded(Meeting& meeting, Purpose purpose, absl::Span<const uint32_t> group)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const bool copies_directly_;
  absl::Mutex mutex_;
  absl::CondVar changed_;
  std::map<Key, Meeting> meetings_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> has_left_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);  // the first one's
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_COLLECTIVE_RENDEZVOUS_H_
