// A completion with a status: the implementation of PJRT_Event.
//
// Shared by the threads that wait and the thread that completes; thread-safe. Stands for a buffer's
// readiness, a transfer or an execution. SYCL events live below this, in timelines. An event that
// stands for a ticket knows its timeline (EventSource) and tells it when a thread waits, so that
// unobserved work is not watched.
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
  // How long the asking thread waits: not at all, only for cheap work (some microseconds), or until
  // the ticket is complete.
  enum class WaitMode { kPoll, kIfCheap, kUntilComplete };

  virtual ~EventSource() = default;

  // Marks `ticket` as observed: from now on its completion is reported as soon as possible.
  virtual void Watch(uint64_t ticket, WaitMode mode) = 0;
};

class Event {
 public:
  using Callback = absl::AnyInvocable<void(const absl::Status&)>;

  Event() = default;
  Event(EventSource* source, uint64_t ticket) : source_(source), ticket_(ticket) {}

  static std::shared_ptr<Event> Create() { return std::make_shared<Event>(); }
  static std::shared_ptr<Event> Completed(absl::Status status);

  // Whether the status is already known. Does not observe the work: for errors, and for work that
  // can be ordered behind it.
  bool IsKnown() const { return ready_.load(std::memory_order_acquire); }
  // Observes the work, without waiting.
  bool IsReady() const {
    if (!IsKnown() && source_ != nullptr) source_->Watch(ticket_, EventSource::WaitMode::kPoll);
    return IsKnown();
  }
  // Valid once ready.
  const absl::Status& status() const { return status_; }
  // Blocks the caller.
  absl::Status Await();
  // Runs `callback` immediately on this thread if the event is ready; otherwise on the completing
  // thread, which must not block.
  void OnReady(Callback callback);
  // Sets the status. Later calls have no effect (a lost device poisons the work that completes
  // afterwards).
  void Complete(absl::Status status);
  // Sets the status without running the callbacks; a following call of Complete runs them.
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
