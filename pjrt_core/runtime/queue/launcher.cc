#include "pjrt_core/runtime/queue/launcher.h"

#include <pthread.h>

#include <utility>

namespace onexpu {

void Launcher::Enqueue(Work work) {
  absl::MutexLock lock(&mutex_);
  pending_.fetch_add(1, std::memory_order_acq_rel);
  queue_.push_back(std::move(work));
  if (!thread_.joinable()) thread_ = std::thread([this] { Loop(); });
  changed_.SignalAll();
}

void Launcher::Drain() {
  absl::MutexLock lock(&mutex_);
  while (busy()) changed_.Wait(&mutex_);
}

void Launcher::Stop() {
  std::thread thread;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.SignalAll();
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

void Launcher::Loop() {
  pthread_setname_np(pthread_self(), "onexpu-launcher");
  thread_id_ = std::this_thread::get_id();
  while (true) {
    Work work;
    {
      absl::MutexLock lock(&mutex_);
      while (queue_.empty() && !stopping_) changed_.Wait(&mutex_);
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    std::move(work)();
    work = nullptr;  // released before waiting threads continue
    absl::MutexLock lock(&mutex_);
    pending_.fetch_sub(1, std::memory_order_acq_rel);
    changed_.SignalAll();
  }
}

}  // namespace onexpu
