#include "pjrt_core/device/event.h"

#include <utility>

namespace onexpu {

std::shared_ptr<Event> Event::Completed(absl::Status status) {
  if (status.ok()) {
    // Shared by all callers: most ready events are requested after completion.
    static auto* const ok = new std::shared_ptr<Event>([] {
      std::shared_ptr<Event> event = Create();
      event->Complete(absl::OkStatus());
      return event;
    }());
    return *ok;
  }
  std::shared_ptr<Event> event = Create();
  event->Complete(std::move(status));
  return event;
}

absl::Status Event::Await() {
  if (!IsKnown() && source_ != nullptr) {
    source_->Watch(ticket_, EventSource::WaitMode::kUntilComplete);
  }
  if (!IsKnown()) {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](std::atomic<bool>* ready) { return ready->load(std::memory_order_acquire); }, &ready_));
  }
  return status_;
}

void Event::OnReady(Callback callback) {
  if (!IsKnown() && source_ != nullptr) source_->Watch(ticket_, EventSource::WaitMode::kIfCheap);
  if (!IsKnown()) {
    absl::MutexLock lock(&mutex_);
    if (!IsKnown()) {
      callbacks_.push_back(std::move(callback));
      return;
    }
  }
  callback(status_);
}

void Event::MakeKnown(absl::Status status) {
  absl::MutexLock lock(&mutex_);
  SetStatus(std::move(status));
}

void Event::SetStatus(absl::Status status) {
  if (IsKnown()) return;
  status_ = std::move(status);
  ready_.store(true, std::memory_order_release);
}

void Event::Complete(absl::Status status) {
  absl::InlinedVector<Callback, 1> callbacks;
  {
    absl::MutexLock lock(&mutex_);
    SetStatus(std::move(status));
    callbacks = std::move(callbacks_);
    callbacks_.clear();
  }
  for (Callback& callback : callbacks) callback(status_);
}

}  // namespace onexpu
