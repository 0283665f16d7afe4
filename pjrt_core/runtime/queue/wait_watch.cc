#include "pjrt_core/runtime/queue/wait_watch.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "pjrt_core/base/environment.h"

namespace onexpu {
namespace {

// A thread's current wait. `waits` changes with every beginning and end, so the watching thread
// tells one long wait from many short ones. A torn pair of subject and number belongs to a wait
// that has just changed, and is not reported.
struct Slot {
  std::atomic<WaitSubject*> subject{nullptr};
  std::atomic<uint64_t> number{0};
  std::atomic<uint64_t> waits{0};
  // For the watching thread only.
  uint64_t seen = 0;
  absl::Time since;
  absl::Time reported;
};

class Watcher {
 public:
  static Watcher& Process() {
    static Watcher* const watcher = new Watcher;
    return *watcher;
  }

  Slot* Take() {
    absl::MutexLock lock(&mutex_);
    if (!runs_ && interval_ != absl::InfiniteDuration()) {
      runs_ = true;
      std::thread([this] { Run(); }).detach();
    }
    if (free_.empty()) {
      slots_.push_back(new Slot);
      return slots_.back();
    }
    Slot* const slot = free_.back();
    free_.pop_back();
    return slot;
  }

  void GiveBack(Slot* slot) {
    absl::MutexLock lock(&mutex_);
    free_.push_back(slot);
  }

 private:
  void Run() {
    const absl::Duration period =
        std::clamp(interval_ / 10, absl::Milliseconds(50), absl::Seconds(10));
    while (true) {
      absl::SleepFor(period);
      std::vector<Slot*> slots;
      {
        absl::MutexLock lock(&mutex_);
        slots = slots_;
      }
      for (Slot* slot : slots) Look(*slot);
    }
  }

  void Look(Slot& slot) {
    const uint64_t waits = slot.waits.load(std::memory_order_acquire);
    WaitSubject* const subject = slot.subject.load(std::memory_order_relaxed);
    const uint64_t number = slot.number.load(std::memory_order_relaxed);
    const absl::Time now = absl::Now();
    if (slot.seen != waits) {
      slot.seen = waits;
      slot.since = slot.reported = now;
      return;
    }
    if (subject == nullptr || now - slot.reported < interval_) return;
    slot.reported = now;
    const std::string what = subject->DescribeWait(number);
    if (slot.waits.load(std::memory_order_acquire) != waits || what.empty()) return;
    const std::string line = absl::StrCat(
        "onexpu: waiting for ", absl::ToInt64Seconds(now - slot.since), " s for ", what, ".\n");
    std::fputs(line.c_str(), stderr);
    subject->ProbeWait(number);
  }

  const absl::Duration interval_ = WaitReportFromEnvironment().value_or(kDefaultWaitReport);
  absl::Mutex mutex_;
  std::vector<Slot*> slots_ ABSL_GUARDED_BY(mutex_);  // one for each thread; never freed
  std::vector<Slot*> free_ ABSL_GUARDED_BY(mutex_);   // of threads that have ended
  bool runs_ ABSL_GUARDED_BY(mutex_) = false;
};

// The main thread also waits in exit handlers, after its thread_local objects are destroyed. It
// then uses a slot that is never given back.
thread_local Slot* this_thread = nullptr;

struct Guard {
  ~Guard() {
    if (this_thread != nullptr) Watcher::Process().GiveBack(std::exchange(this_thread, nullptr));
  }
};

Slot& ThisThread() {
  if (this_thread == nullptr) {
    this_thread = Watcher::Process().Take();
    thread_local const Guard guard;
  }
  return *this_thread;
}

// Only the slot's thread calls this.
void Set(Slot& slot, WaitSubject* subject, uint64_t number) {
  slot.subject.store(subject, std::memory_order_relaxed);
  slot.number.store(number, std::memory_order_relaxed);
  slot.waits.store(slot.waits.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace

WatchedWait::WatchedWait(WaitSubject& subject, uint64_t number) {
  Slot& slot = ThisThread();
  outer_ = slot.subject.load(std::memory_order_relaxed);
  outer_number_ = slot.number.load(std::memory_order_relaxed);
  Set(slot, &subject, number);
}

WatchedWait::~WatchedWait() { Set(ThisThread(), outer_, outer_number_); }

}  // namespace onexpu
