// A completion with a status: what PJRT_Event is made of.
//
// Shared by whoever waits and whoever completes; thread-safe. A buffer's ready event, a transfer, an execution. SYCL events
// live below this, in timelines.
#ifndef PJRT_CORE_RUNTIME_EVENT_H_
#define PJRT_CORE_RUNTIME_EVENT_H_

#include <atomic>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace onexpu {

class Event {
 public:
  using Callback = absl::AnyInvocable<void(const absl::Status&)>;

  static std::shared_ptr<Event> Create() { return std::make_shared<Event>(); }
  static std::shared_ptr<Event> Completed(absl::Status status);

  bool IsReady() const { return ready_.load(std::memory_order_acquire); }
  // Valid once ready.
  const absl::Status& status() const { return status_; }
  // Blocks the caller.
  absl::Status Await();
  // Runs at once, on this thread, when already ready; otherwise on the completing thread, which must not block.
  void OnReady(Callback callback);
  // Once only.
  void Complete(absl::Status status);

 private:
  std::atomic<bool> ready_{false};
  absl::Status status_;
  absl::Mutex mutex_;
  std::vector<Callback> callbacks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_EVENT_H_
