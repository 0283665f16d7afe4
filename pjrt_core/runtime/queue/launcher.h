// The thread that submits what must not be submitted on the caller's: Programs that wait for the
// device or the host.
//
// One per device, started by the first such Program, FIFO. While it is busy, everything that comes
// later goes through it, so that queue order stays the order in which callers came. Enqueue and the
// decision to go past it are made under the device's submission lock; the work itself runs without.
#ifndef PJRT_CORE_RUNTIME_QUEUE_LAUNCHER_H_
#define PJRT_CORE_RUNTIME_QUEUE_LAUNCHER_H_

#include <atomic>
#include <deque>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"

namespace onexpu {

class Launcher {
 public:
  using Work = absl::AnyInvocable<void()>;

  Launcher() = default;
  ~Launcher() { Stop(); }

  // Work has been given to it and is not finished.
  bool busy() const { return pending_.load(std::memory_order_acquire) > 0; }
  void Enqueue(Work work);
  bool IsThisThread() const { return thread_id_.load() == std::this_thread::get_id(); }
  // Blocks until all that was enqueued has run. Not from the launcher's own thread.
  void Drain();
  // Ends the thread after the work that it has.
  void Stop();

 private:
  void Loop();

  std::atomic<int> pending_{0};
  std::atomic<std::thread::id> thread_id_{};
  absl::Mutex mutex_;
  absl::CondVar changed_;
  std::deque<Work> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_QUEUE_LAUNCHER_H_
