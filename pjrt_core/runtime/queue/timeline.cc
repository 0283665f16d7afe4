#include "pjrt_core/runtime/queue/timeline.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/device/device_traits.h"
#include "pjrt_core/device/event_status.h"
#include "pjrt_core/device/library_errors.h"

namespace onexpu {
namespace {

// Unobserved work is completed in batches of this size, to release what it keeps alive.
constexpr size_t kBatch = 64;
// How far ahead of the first incomplete ticket the waiter thread waits.
constexpr int64_t kLookAheadNanoseconds = 1'000'000;

}  // namespace

void DeviceHealth::MarkLost(absl::Status status) {
  absl::MutexLock lock(&mutex_);
  if (lost()) return;
  status_ = absl::AbortedError(absl::StrCat("onexpu: the device is lost: ", status.message()));
  lost_.store(true, std::memory_order_release);
}

absl::Status DeviceHealth::status() const {
  absl::MutexLock lock(&mutex_);
  return status_;
}

Timeline::Timeline(std::string name, const sycl::context& context, const sycl::device& device,
                   sycl::async_handler on_error, DeviceHealth* health,
                   std::optional<CallerQueue> caller_queue)
    : name_(std::move(name)),
      context_(context),
      on_error_(std::move(on_error)),
      queue_(context, device, on_error_, sycl::property::queue::in_order()),
      caller_queue_(std::move(caller_queue)),
      health_(health) {}

Timeline::~Timeline() { Stop(); }

void Timeline::Stop() {
  std::thread waiter;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    watch_changed_.Signal();
    waiter = std::move(waiter_);
  }
  if (waiter.joinable()) waiter.join();
}

void Timeline::StartTrace() {
  absl::MutexLock order(&submit_mutex_);
  if (traced_queue_ == nullptr) {
    const sycl::property_list properties = {sycl::property::queue::in_order(),
                                            sycl::property::queue::enable_profiling()};
    traced_queue_ = std::make_unique<sycl::queue>(queue_.get_context(), queue_.get_device(),
                                                  on_error_, properties);
    trace_ = std::make_unique<CommandTrace>();
  }
  trace_->Begin(*traced_queue_);
  traced_queue_->ext_oneapi_submit_barrier({queue_.ext_oneapi_submit_barrier()});
  queue_in_use_.store(traced_queue_.get(), std::memory_order_release);
  trace_in_use_.store(trace_.get(), std::memory_order_release);
}

void Timeline::StopTrace() {
  absl::MutexLock order(&submit_mutex_);
  queue_.ext_oneapi_submit_barrier({traced_queue_->ext_oneapi_submit_barrier()});
  trace_in_use_.store(nullptr, std::memory_order_release);
  queue_in_use_.store(&queue_, std::memory_order_release);
}

CommandTrace* Timeline::last_trace() {
  absl::MutexLock order(&submit_mutex_);
  return trace_.get();
}

Timeline::Reservation Timeline::Reserve(int64_t estimated_nanoseconds, RunCostModel* cost_model,
                                        Label label) {
  absl::MutexLock lock(&mutex_);
  const Ticket ticket = reserved_.load(std::memory_order_relaxed) + 1;
  reserved_.store(ticket, std::memory_order_release);
  Entry& entry = entries_.emplace_back();
  entry.done = std::make_shared<Event>(this, ticket);
  entry.estimated_nanoseconds = estimated_nanoseconds;
  entry.cost_model = cost_model;
  entry.label = label;
  if (cost_model != nullptr && cost_model->wants_time() && ticket == first_ticket_) {
    entry.reserved = std::chrono::steady_clock::now();
  }
  return {ticket, entry.done};
}

void Timeline::Commit(Ticket ticket, std::optional<sycl::event> last, absl::Status status,
                      std::shared_ptr<const void> keep_alive) {
  // Before the failure becomes visible, because later work must not reach a lost device.
  if (ABSL_PREDICT_FALSE(!status.ok()) && IsDeviceLost(status)) {
    health_->MarkLost(status);
    // Work of other devices that depends on this must not mark them as lost.
    status = health_->status();
  }
  std::shared_ptr<Event> failed;
  {
    absl::MutexLock lock(&mutex_);
    Entry& committed = entry(ticket);
    committed.last = std::move(last);
    committed.keep_alive = std::move(keep_alive);
    if (!status.ok()) {
      failed = committed.done;
      committed.status = status;
      // Before the ticket is committed: work that is submitted after it asks for the failure, and
      // would run if it were not known.
      failed->MakeKnown(status);
    }
    committed_.store(ticket, std::memory_order_release);
    if (committed.is_observed) WakeWaiter(ticket);
    if (ticket - first_ticket_ >= 2 * kBatch) WakeWaiter(ticket - kBatch);
    commit_changed_.SignalAll();
  }
  // Report the failure to dependent work immediately; the memory stays in use until the ticket is
  // complete.
  if (failed != nullptr) failed->Complete(std::move(status));
}

Timeline::Reservation Timeline::Submit(
    int64_t estimated_nanoseconds, std::shared_ptr<const void> keep_alive, const CopyLabel& label,
    absl::FunctionRef<absl::StatusOr<sycl::event>(sycl::queue&)> submit) {
  absl::MutexLock order(&submit_mutex_);
  Reservation reservation = Reserve(estimated_nanoseconds, nullptr, {"", label.name});
  std::optional<sycl::event> last;
  CommandTrace* const trace = this->trace();
  const int64_t submitted = trace == nullptr ? 0 : CommandTrace::Now();
  absl::Status status = health_->lost() ? health_->status() : CatchLibraryErrors([&] {
    absl::StatusOr<sycl::event> event = submit(queue());
    if (event.ok()) last = *std::move(event);
    return event.status();
  });
  if (trace != nullptr && last.has_value()) trace->AddCopy(label, submitted, *last);
  Commit(reservation.ticket, std::move(last), std::move(status), std::move(keep_alive));
  return reservation;
}

std::optional<absl::Status> Timeline::RunOnCaller(absl::FunctionRef<void(sycl::queue&)> submit) {
  if (!has_caller_queue()) return std::nullopt;
  absl::MutexLock order(&submit_mutex_);
  CallerQueue* const caller = caller_queue();
  if (caller == nullptr || !IsIdle()) return std::nullopt;
  if (health_->lost()) return health_->status();
  return CatchLibraryErrors([&] {
    submit(caller->queue);
    return absl::OkStatus();
  });
}

std::optional<sycl::event> Timeline::EventFor(Ticket ticket) {
  // Work without commands is complete with what came before it.
  for (; ticket >= first_ticket_; --ticket) {
    if (entry(ticket).last.has_value()) return entry(ticket).last;
  }
  return std::nullopt;
}

std::optional<sycl::event> Timeline::DependencyOn(Ticket ticket) {
  if (IsComplete(ticket)) return std::nullopt;
  absl::MutexLock lock(&mutex_);
  return EventFor(ticket);
}

void Timeline::WhenComplete(Ticket ticket, absl::AnyInvocable<void()> callback) {
  {
    absl::MutexLock lock(&mutex_);
    if (ticket >= first_ticket_) {
      entry(ticket).callbacks.push_back(std::move(callback));
      entry(ticket).is_observed = true;
      if (IsCommitted(ticket)) WakeWaiter(ticket);
      return;
    }
  }
  callback();
}

int64_t Timeline::PendingNanoseconds(Ticket ticket) {
  int64_t sum = 0;
  for (Ticket t = first_ticket_; t <= ticket && sum <= RunCostModel::kMaxCheapNanoseconds; ++t) {
    const RunCostModel* cost_model = entry(t).cost_model;
    if (cost_model != nullptr && !cost_model->is_proven())
      return RunCostModel::kMaxCheapNanoseconds + 1;
    sum += entry(t).estimated_nanoseconds;
  }
  return sum;
}

void Timeline::WakeWaiter(Ticket ticket) {
  if (watched_ >= ticket || stopping_) return;
  watched_ = ticket;
  StartWaiter();
  watch_changed_.Signal();
}

void Timeline::StartWaiter() {
  if (!waiter_.joinable() && !stopping_) waiter_ = std::thread([this] { WaiterLoop(); });
}

void Timeline::WaitForDevice(Ticket ticket, const std::optional<sycl::event>& last) {
  if (!last.has_value()) return;
  const WatchedWait watched(*this, ticket);
  absl::Status status = CatchLibraryErrors([&] {
    WaitUntilComplete(*last);
    return absl::OkStatus();
  });
  if (!status.ok()) health_->MarkLost(std::move(status));
}

absl::InlinedVector<Timeline::Entry, 2> Timeline::TakeFinished(Ticket ticket) {
  absl::InlinedVector<Entry, 2> finished;
  while (first_ticket_ <= ticket) {
    finished.push_back(std::move(entries_.front()));
    entries_.pop_front();
    ++first_ticket_;
  }
  completed_.store(first_ticket_ - 1, std::memory_order_release);
  return finished;
}

void Timeline::Finish(absl::InlinedVector<Entry, 2> finished) {
  for (Entry& entry : finished) {
    if (entry.reserved != std::chrono::steady_clock::time_point()) {
      entry.cost_model->ObserveOnDevice(
          (std::chrono::steady_clock::now() - entry.reserved).count());
    }
    absl::Status status = std::move(entry.status);
    if (status.ok() && health_->lost()) status = health_->status();
    entry.done->Complete(std::move(status));
    for (auto& callback : entry.callbacks) callback();
  }
}

void Timeline::Retire(Ticket ticket) {
  absl::InlinedVector<Entry, 2> finished;
  {
    absl::MutexLock lock(&mutex_);
    finished = TakeFinished(ticket);
  }
  Finish(std::move(finished));
}

void Timeline::WaitForCommittedQuietly() {
  std::optional<sycl::event> last;
  const Ticket ticket = committed_.load(std::memory_order_acquire);
  {
    absl::MutexLock lock(&mutex_);
    if (ticket < first_ticket_) return;
    last = EventFor(ticket);
  }
  WaitForDevice(ticket, last);
  absl::MutexLock lock(&mutex_);
  for (Entry& entry : TakeFinished(ticket)) finished_.push_back(std::move(entry));
  StartWaiter();
  watch_changed_.Signal();
}

bool Timeline::RetireIfFinished(Ticket ticket) {
  std::optional<sycl::event> last;
  {
    absl::MutexLock lock(&mutex_);
    if (ticket < first_ticket_) return true;
    last = EventFor(ticket);
  }
  bool finished = !last.has_value();
  absl::Status status = CatchLibraryErrors([&] {
    if (!finished) finished = onexpu::IsComplete(*last);
    return absl::OkStatus();
  });
  if (!status.ok()) health_->MarkLost(std::move(status));
  if (finished || !status.ok()) Retire(ticket);
  return finished;
}

void Timeline::Poll() {
  const Ticket newest = committed_.load(std::memory_order_acquire);
  if (IsComplete(newest) || RetireIfFinished(newest)) return;
  // A deep queue: what is at its head may be done.
  const Ticket oldest = completed_.load(std::memory_order_acquire) + 1;
  if (oldest < newest) RetireIfFinished(oldest);
}

void Timeline::WaitUntilCommitted(Ticket ticket) {
  if (IsCommitted(ticket)) return;
  absl::MutexLock lock(&mutex_);
  while (!IsCommitted(ticket)) commit_changed_.Wait(&mutex_);
}

void Timeline::Wait(Ticket ticket) {
  if (IsComplete(ticket)) return;
  std::optional<sycl::event> last;
  {
    absl::MutexLock lock(&mutex_);
    while (!IsCommitted(ticket)) commit_changed_.Wait(&mutex_);
    if (ticket < first_ticket_) return;
    last = EventFor(ticket);
  }
  WaitForDevice(ticket, last);
  Retire(ticket);
}

void Timeline::WaitIfCheap(Ticket ticket) {
  std::optional<sycl::event> last;
  RunCostModel* cost_model;
  std::shared_ptr<const void> keep_alive;  // of the cost model
  {
    absl::MutexLock lock(&mutex_);
    if (ticket < first_ticket_ || !IsCommitted(ticket)) return;
    if (PendingNanoseconds(ticket) > RunCostModel::kMaxCheapNanoseconds) return;
    last = EventFor(ticket);
    cost_model = entry(ticket).cost_model;
    keep_alive = entry(ticket).keep_alive;
  }
  const auto start = std::chrono::steady_clock::now();
  WaitForDevice(ticket, last);
  Retire(ticket);
  if (cost_model != nullptr)
    cost_model->ObserveWait((std::chrono::steady_clock::now() - start).count());
}

void Timeline::Watch(uint64_t ticket, WaitMode mode) {
  if (mode == WaitMode::kUntilComplete) return Wait(ticket);
  if (mode == WaitMode::kIfCheap) WaitIfCheap(ticket);
  absl::MutexLock lock(&mutex_);
  if (ticket < first_ticket_) return;
  entry(ticket).is_observed = true;
  if (IsCommitted(ticket)) WakeWaiter(ticket);
}

std::string Timeline::DescribeWait(uint64_t ticket) {
  // Earlier work in the queue may be the one that does not finish.
  struct Candidate {
    Ticket ticket;
    std::optional<sycl::event> last;
  };
  std::vector<Candidate> candidates;
  {
    absl::MutexLock lock(&mutex_);
    for (Ticket t = first_ticket_; t <= ticket && t <= reserved_; ++t) {
      candidates.push_back({t, entry(t).last});
    }
  }
  for (const Candidate& candidate : candidates) {
    bool finished = false;
    CatchLibraryErrors([&] {
      finished = candidate.last.has_value() && onexpu::IsComplete(*candidate.last);
      return absl::OkStatus();
    }).IgnoreError();
    if (finished) continue;
    absl::MutexLock lock(&mutex_);
    if (candidate.ticket < first_ticket_) continue;
    const Label label = entry(candidate.ticket).label;
    std::string what = label.kind;
    if (label.name != nullptr) {
      what = what.empty() ? label.name : absl::StrCat(what, " '", label.name, "'");
    }
    std::string where = absl::StrCat("queue ", name_);
    if (!IsCommitted(candidate.ticket)) {
      const char* const op = label.op == nullptr ? nullptr : label.op->load();
      absl::StrAppend(&where, op == nullptr ? ", being submitted"
                                            : absl::StrCat(", submitted up to op '", op, "'"));
    }
    return absl::StrCat(what, " on ", health_->device(), " (", where, ")",
                        !TraitsOf(queue_.get_device()).may_hang
                            ? ""
                            : ". If the wait does not end, look for a GPU hang or reset in the "
                              "kernel's log (dmesg)");
  }
  return "";
}

void Timeline::ProbeWait(uint64_t ticket) {
  if (IsCommitted(ticket)) RetireIfFinished(ticket);
}

Ticket Timeline::NextWatched() {
  const Ticket last = std::min(watched_, committed_.load(std::memory_order_relaxed));
  int64_t ahead = 0;
  Ticket ticket = first_ticket_;
  while (ticket < last && !entry(ticket).is_observed && ahead <= kLookAheadNanoseconds) {
    ahead += entry(ticket).estimated_nanoseconds;
    ++ticket;
  }
  return ticket;
}

void Timeline::WaiterLoop() {
  pthread_setname_np(pthread_self(), "onexpu-waiter");
  while (true) {
    std::optional<sycl::event> last;
    Ticket ticket = 0;
    absl::InlinedVector<Entry, 2> finished;
    {
      absl::MutexLock lock(&mutex_);
      while (!stopping_ && finished_.empty() &&
             !(watched_ >= first_ticket_ && IsCommitted(first_ticket_))) {
        watch_changed_.Wait(&mutex_);
      }
      if (finished_.empty() && stopping_) return;
      finished.swap(finished_);
      if (finished.empty()) {
        ticket = NextWatched();
        last = EventFor(ticket);
      }
    }
    if (ticket > 0) {
      WaitForDevice(ticket, last);
      Retire(ticket);
    }
    Finish(std::move(finished));
  }
}

}  // namespace onexpu
