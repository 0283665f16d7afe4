// One in-order SYCL queue seen as a sequence of tickets.
//
// Owned by its device, lives as long as the process. Thread-safe. A ticket stands for one unit of
// work (a Program's execution, a transfer): it is reserved, its work is submitted to the queue, and
// it is committed with the SYCL event of its last command. Tickets are committed in the order of
// their reservation (the device's submission lock and launcher see to it) and complete in that
// order.
//
// Unobserved work is not watched, because a thread hop costs several times the run time of a small
// kernel. A thread that asks for cheap work waits for it. The waiter thread watches other work (on
// the CPU device a thread that waits also computes). Callbacks run on the thread that completes the
// ticket: the waiter thread, or one that waits.
#ifndef PJRT_CORE_RUNTIME_QUEUE_TIMELINE_H_
#define PJRT_CORE_RUNTIME_QUEUE_TIMELINE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "pjrt_core/cpu_device/caller_queue.h"
#include "pjrt_core/cpu_device/run_cost_model.h"
#include "pjrt_core/device/command_trace.h"
#include "pjrt_core/device/event.h"
#include "pjrt_core/opencl/direct_kernel.h"
#include "pjrt_core/runtime/queue/ticket.h"
#include "pjrt_core/runtime/queue/wait_watch.h"
#include "sycl/sycl.hpp"

namespace onexpu {

// What is known of the device's state: set once by the first sign of a lost device. Thread-safe.
class DeviceHealth {
 public:
  void MarkLost(absl::Status status);
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  absl::Status status() const;
  // Call before the device is used.
  void set_device(std::string name) { device_ = std::move(name); }
  const std::string& device() const { return device_; }

 private:
  std::string device_ = "the device";
  std::atomic<bool> lost_{false};
  mutable absl::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

class Timeline final : public EventSource, public WaitSubject {
 public:
  struct Reservation {
    Ticket ticket;
    std::shared_ptr<Event> done;
  };

  Timeline(std::string name, const sycl::context& context, const sycl::device& device,
           sycl::async_handler on_error, DeviceHealth* health,
           std::optional<CallerQueue> caller_queue = std::nullopt);
  ~Timeline() override;

  // The queue that work goes to. Another one while a profiler is active: ask for each submission.
  sycl::queue& queue() { return *queue_in_use_.load(std::memory_order_acquire); }
  bool has_caller_queue() const { return caller_queue_.has_value(); }
  // Where small work may run at once (caller_queue.h); null for devices without, and while a
  // profiler is active. One thread at a time.
  CallerQueue* caller_queue() {
    return caller_queue_.has_value() && trace() == nullptr ? &*caller_queue_ : nullptr;
  }
  // `queue` for a DirectKernel, if it is the caller's.
  std::optional<DirectQueue> DirectQueueOf(const sycl::queue& queue, uint64_t memory_epoch) const {
    if (!caller_queue_.has_value() || &queue != &caller_queue_->queue) return std::nullopt;
    return DirectQueue{caller_queue_->handle, memory_epoch};
  }
  // Where to note what is submitted; null unless a profiler is active.
  CommandTrace* trace() const { return trace_in_use_.load(std::memory_order_acquire); }
  // Begins and ends that, behind all work that came before. For a timeline whose work does not come
  // through Submit: in a submission of its device. Throws sycl::exception.
  void StartTrace();
  void StopTrace();
  // What has been noted since StartTrace; null if it has never been called.
  CommandTrace* last_trace();
  const std::string& name() const { return name_; }
  // A queue can only wait for events of its own context.
  bool SharesContextWith(const Timeline& other) const { return context_ == other.context_; }

  // `cost_model` and the label's texts, if given, live until the ticket is complete. Reports of
  // long waits show the label: "program 'jit_f'" has the kind "program" and the name "jit_f".
  struct Label {
    const char* kind = "work";
    const char* name = nullptr;
    // The op that the launcher is submitting; null for work that is submitted inline.
    const std::atomic<const char*>* op = nullptr;
  };
  Reservation Reserve(int64_t estimated_nanoseconds, RunCostModel* cost_model, Label label);
  Reservation Reserve(int64_t estimated_nanoseconds, RunCostModel* cost_model = nullptr) {
    return Reserve(estimated_nanoseconds, cost_model, Label());
  }

  // The work of `ticket` has been handed to the queue; `last` is its last command, none when it had
  // none. An error is the work's outcome. `keep_alive` is released when the ticket is complete.
  void Commit(Ticket ticket, std::optional<sycl::event> last, absl::Status status,
              std::shared_ptr<const void> keep_alive);

  // Reserve, submit and commit as one step. `label` is for profilers.
  Reservation Submit(int64_t estimated_nanoseconds, std::shared_ptr<const void> keep_alive,
                     const CopyLabel& label,
                     absl::FunctionRef<absl::StatusOr<sycl::event>(sycl::queue&)> submit);

  // Submits small work to the caller's queue, where it is complete on return, and takes no ticket.
  // Nothing happens, and there is no outcome, when there is none or other work comes first. For a
  // timeline whose work comes through Submit.
  std::optional<absl::Status> RunOnCaller(absl::FunctionRef<void(sycl::queue&)> submit);

  bool IsComplete(Ticket ticket) const {
    return ticket <= completed_.load(std::memory_order_acquire);
  }
  bool IsCommitted(Ticket ticket) const {
    return ticket <= committed_.load(std::memory_order_acquire);
  }
  bool IsIdle() const { return IsComplete(reserved_.load(std::memory_order_acquire)); }
  Ticket reserved() const { return reserved_.load(std::memory_order_acquire); }

  // What work on another queue has to wait for: none when the ticket is complete. The ticket must
  // be committed.
  std::optional<sycl::event> DependencyOn(Ticket ticket);

  // Runs when the ticket is complete: at once, or on the completing thread.
  void WhenComplete(Ticket ticket, absl::AnyInvocable<void()> callback);

  // Waits for the ticket if its estimated time is a few microseconds.
  void WaitIfCheap(Ticket ticket);

  // Completes what the device has finished, callbacks included. Never blocks.
  void Poll();

  // Blocks until the ticket's work has been handed to the queue.
  void WaitUntilCommitted(Ticket ticket);
  // Blocks until the ticket is committed and complete.
  void Wait(Ticket ticket);
  // Blocks until all that has been committed so far is complete.
  void WaitForCommitted() { Wait(committed_.load(std::memory_order_acquire)); }
  // The same for a caller that holds locks: callbacks are left to the waiter thread.
  void WaitForCommittedQuietly();

  void Watch(uint64_t ticket, WaitMode mode) override;

  // WaitSubject; the number is a ticket.
  std::string DescribeWait(uint64_t ticket) override;
  void ProbeWait(uint64_t ticket) override;

  // Ends the waiter thread, at the end of the process.
  void Stop();

 private:
  struct Entry {
    std::optional<sycl::event> last;
    absl::Status status;
    std::shared_ptr<Event> done;
    std::shared_ptr<const void> keep_alive;
    int64_t estimated_nanoseconds = 0;
    RunCostModel* cost_model = nullptr;
    Label label;
    // If the cost model measures the run; zero if the run was queued behind others.
    std::chrono::steady_clock::time_point reserved;
    bool is_observed = false;  // its completion is reported at once
    absl::InlinedVector<absl::AnyInvocable<void()>, 1> callbacks;
  };

  Entry& entry(Ticket ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return entries_[ticket - first_ticket_];
  }
  std::optional<sycl::event> EventFor(Ticket ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t PendingNanoseconds(Ticket ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartWaiter() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeWaiter(Ticket ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WaitForDevice(Ticket ticket, const std::optional<sycl::event>& last);
  // False when the device has not finished `ticket`, which is committed.
  bool RetireIfFinished(Ticket ticket);
  // Completes all tickets up to `ticket`, which the device has finished.
  void Retire(Ticket ticket);
  absl::InlinedVector<Entry, 2> TakeFinished(Ticket ticket) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish(absl::InlinedVector<Entry, 2> finished);
  // What the waiter thread waits for next: the first that is observed, but not far ahead.
  Ticket NextWatched() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WaiterLoop();

  const std::string name_;
  const sycl::context context_;
  const sycl::async_handler on_error_;
  sycl::queue queue_;
  std::optional<CallerQueue> caller_queue_;
  // Created by the first trace, for the life of the process: submitting threads may hold them.
  std::unique_ptr<sycl::queue> traced_queue_;
  std::unique_ptr<CommandTrace> trace_;
  std::atomic<sycl::queue*> queue_in_use_{&queue_};
  std::atomic<CommandTrace*> trace_in_use_{nullptr};
  DeviceHealth* const health_;

  std::atomic<Ticket> reserved_{0};
  std::atomic<Ticket> committed_{0};
  std::atomic<Ticket> completed_{0};

  absl::Mutex submit_mutex_;  // keeps Submit's reservation, queue and commit in one order; taken
                              // before mutex_

  absl::Mutex mutex_;
  absl::CondVar commit_changed_;                       // for Wait
  absl::CondVar watch_changed_;                        // for the waiter thread
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // the first is first_ticket_'s
  Ticket first_ticket_ ABSL_GUARDED_BY(mutex_) = 1;
  absl::InlinedVector<Entry, 2> finished_
      ABSL_GUARDED_BY(mutex_);  // complete, with callbacks for the waiter thread to run
  Ticket watched_ ABSL_GUARDED_BY(mutex_) = 0;  // the waiter thread goes up to here
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread waiter_ ABSL_GUARDED_BY(mutex_);  // started by the first work that is watched
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_QUEUE_TIMELINE_H_
