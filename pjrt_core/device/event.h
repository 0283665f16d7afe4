// A completion with a status: what PJRT_Event is made of.
//
// Shared by whoever waits and whoever completes; thread-safe. A buffer's ready event, a transfer,
// an execution. SYCL events live below this, in timelines: an event that stands for a ticket knows
// its timeline (EventSource) and tells it when somebody waits, so that nobody has to watch work
// that nobody asks about.
#ifndef PJRT_CORE_DEVICE_EVENT_H_
#define PJRT_CORE_DEVICE_EVENT_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace onexpu {

// Completes events in the order of its tickets. Outlives its events.
class EventSource {
 public:
  // How long the one who asks will wait: not at all, some microseconds, or as long as it takes (and
  // lends its thread).
  enum class Patience { kNone, kShort, kLong };

  virtual ~EventSource() = default;

  // Somebody wants to know of `ticket`, which from now on completes as soon as it can.
  virtual void Watch(uint64_t ticket, Patience patience) = 0;
};

class Event {
 public:
  using Callback = absl::AnyInvocable<void(const absl::Status&)>;

  Event() = default;
  Event(EventSource* source, uint64_t ticket) : source_(source), ticket_(ticket) {}

  static std::shared_ptr<Event> Create() { return std::make_shared<Event>(); }
  static std::shared_ptr<Event> Completed(absl::Status status);

  // What is known by now, without asking: for errors, and for work that may as well be ordered
  // behind it.
  bool IsKnown() const { return ready_.load(std::memory_order_acquire); }
  // For somebody who would like to know.
  bool IsReady() const {
    if (!IsKnown() && source_ != nullptr) source_->Watch(ticket_, EventSource::Patience::kNone);
    return IsKnown();
  }
  // Valid once ready.
  const absl::Status& status() const { return status_; }
  // Blocks the caller.
  absl::Status Await();
  // Runs at once, on this thread, when already ready; otherwise on the completing thread, which
  // must not block.
  void OnReady(Callback callback);
  // The first call counts; later ones have no effect (a device that is lost poisons what then
  // completes).
  void Complete(absl::Status status);
  // The same without the callbacks, which the call of Complete that follows runs.
  void MakeKnown(absl::Status status);

 private:
  void SetStatus(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  EventSource* const source_ = nullptr;
  const uint64_t ticket_ = 0;
  std::atomic<bool> ready_{false};
  absl::Status status_;
  absl::Mutex mutex_;
  absl::InlinedVector<Callback, 1> callbacks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onexpu

#endif  // PJRT_CORE_DEVICE_EVENT_H_
