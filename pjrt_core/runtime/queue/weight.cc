#include "pjrt_core/runtime/queue/weight.h"

#include <algorithm>

namespace onexpu {
namespace {

// A run that was complete within this time is light, thread hops included.
constexpr int64_t kProofNanoseconds = 300'000;
// An estimate that was this wrong so many times in a row counts no more. Once may be a busy
// machine.
constexpr int64_t kSurpriseNanoseconds = 5'000'000;
constexpr int kSurprises = 3;

// Longer work is not for a thread that has other things to do.
constexpr int64_t kCallerNanoseconds = 500'000;
// What tiny work takes on an idle device, most of it the thread hop.
constexpr int64_t kHopNanoseconds = 20'000;
// What light work may take on the caller's queue: a little longer, as the device's has taken more
// than one processor, and a woken thread's time varies more than a median tells. Of what is beyond
// that, half: the caller's thread could have done something else meanwhile (TensorFlow's
// sync_devices in Python alone takes 17 us).
constexpr int64_t MostOnCaller(int64_t on_device) {
  const int64_t light = std::min(on_device, Weight::kLightNanoseconds);
  return light + light / 4 + (on_device - light) / 2;
}
// Two trials that are worse than the device by this factor need no third.
constexpr int64_t kHopeless = 4;
// So many runs behind other work: this one is part of something larger.
constexpr int kPatience = 256;
// From one trial to the next there are so many times the runs of the time before.
constexpr int kRunsGrowth = 4;
constexpr int kMostRuns = 1 << 24;
constexpr int kRunsAfterClear = 1 << 16;
// Runs on the caller that are worth another trial: several processors might take half of this.
constexpr int64_t kLongOnCaller = 50'000;

}  // namespace

void Weight::ObserveOnDevice(int64_t elapsed) {
  const bool is_proof = elapsed < kProofNanoseconds;
  if (is_proof) is_proven_.store(true, std::memory_order_relaxed);
  if (place_.load(std::memory_order_relaxed) != Place::kTryingDevice) return;
  if (is_proof && is_tiny_.load(std::memory_order_relaxed)) return TryCaller(kHopNanoseconds);
  if (!IsTried(elapsed)) return;
  const int64_t median = Median();
  if (median < kCallerNanoseconds) return TryCaller(median);
  Settle(Place::kResting, /*is_clear=*/median > kHopeless * kCallerNanoseconds);
}

void Weight::TryDevice() {
  trials_.store(0, std::memory_order_relaxed);
  behind_others_.store(0, std::memory_order_relaxed);
  Decide(Place::kTryingDevice);
}

void Weight::Settle(Place place, bool is_clear) {
  int runs = next_runs_to_trial_.load(std::memory_order_relaxed);
  if (is_clear) runs = std::max(runs, kRunsAfterClear);
  runs_to_trial_.store(runs, std::memory_order_relaxed);
  next_runs_to_trial_.store(std::min(kRunsGrowth * runs, kMostRuns), std::memory_order_relaxed);
  slow_runs_.store(0, std::memory_order_relaxed);
  // Its time is to be measured on the device, too, when it is tried again.
  if (place == Place::kResting) is_tiny_.store(false, std::memory_order_relaxed);
  Decide(place);
}

void Weight::ObserveResting() {
  if (place_.load(std::memory_order_relaxed) == Place::kResting && IsDue()) TryDevice();
}

void Weight::TryCaller(int64_t on_device) {
  on_device_.store(on_device, std::memory_order_relaxed);
  trials_.store(0, std::memory_order_relaxed);
  Decide(Place::kTryingCaller);
}

bool Weight::IsTried(int64_t elapsed) {
  const int trial = trials_.fetch_add(1, std::memory_order_relaxed);
  if (trial < kTrials) times_[trial].store(elapsed, std::memory_order_relaxed);
  return trial >= kTrials - 1;
}

int64_t Weight::Median() const {
  std::array<int64_t, kTrials> times;
  for (int i = 0; i < kTrials; ++i) times[i] = times_[i].load(std::memory_order_relaxed);
  std::nth_element(times.begin(), times.begin() + kTrials / 2, times.end());
  return times[kTrials / 2];
}

void Weight::ObserveOnCaller(int64_t elapsed) {
  const Place place = place_.load(std::memory_order_relaxed);
  if (place == Place::kAlwaysCaller) return;
  if (place == Place::kCaller) {
    // What a run takes may depend on its operands.
    if (elapsed < 2 * kCallerNanoseconds) {
      slow_runs_.store(0, std::memory_order_relaxed);
    } else if (slow_runs_.fetch_add(1, std::memory_order_relaxed) + 1 >= kSurprises) {
      return Settle(Place::kResting, /*is_clear=*/false);
    }
    if (elapsed > kLongOnCaller && IsDue()) TryDevice();
    return;
  }
  const int64_t on_device = on_device_.load(std::memory_order_relaxed);
  const bool is_hopeless =
      trials_.load(std::memory_order_relaxed) == 1 &&
      std::min(times_[0].load(std::memory_order_relaxed), elapsed) > kHopeless * on_device;
  if (!IsTried(elapsed) && !is_hopeless) return;
  if (!is_hopeless && Median() <= MostOnCaller(on_device)) {
    return Settle(Place::kCaller, /*is_clear=*/false);
  }
  // Not as tiny as it looked: the device's time is to be measured.
  if (is_tiny_.exchange(false, std::memory_order_relaxed)) return TryDevice();
  Settle(Place::kResting, is_hopeless);
}

void Weight::ObserveBehindOthers() {
  const Place place = place_.load(std::memory_order_relaxed);
  if (place >= Place::kCaller) return;
  if (is_tiny_.load(std::memory_order_relaxed)) return;  // one idle moment is all it needs
  if (behind_others_.fetch_add(1, std::memory_order_relaxed) + 1 >= kPatience) {
    Settle(Place::kResting, /*is_clear=*/false);
  }
}

void Weight::Learn(int64_t waited) {
  if (waited < kSurpriseNanoseconds) {
    surprises_.store(0, std::memory_order_relaxed);
    return;
  }
  const int surprises = surprises_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (surprises >= kSurprises || waited >= kSurprises * kSurpriseNanoseconds) {
    nanoseconds_.store(waited, std::memory_order_relaxed);
  }
}

}  // namespace onexpu
