#include "pjrt_core/cpu_device/run_cost_model.h"

#include <algorithm>

namespace onexpu {
namespace {

// A run that is complete within this time, thread hops included, proves that the work is cheap.
constexpr int64_t kMaxProofNanoseconds = 300'000;
// After kMaxSurprises consecutive waits of this length, the measured time replaces the estimate. A
// single one may be due to a busy machine.
constexpr int64_t kMinSurpriseNanoseconds = 5'000'000;
constexpr int kMaxSurprises = 3;

// Longer work does not run on the caller, which has other things to do.
constexpr int64_t kMaxCallerNanoseconds = 500'000;
// The time of tiny work on an idle device, most of it the thread hop.
constexpr int64_t kHopNanoseconds = 20'000;
// The maximum time on the caller's queue for which the caller is preferred. Cheap work may take a
// little longer there, because the device has used more than one processor and the time of a woken
// thread varies more than the median shows. Of the remaining time, half: the caller's thread could
// have done other work meanwhile (TensorFlow's sync_devices in Python alone takes 17 us).
constexpr int64_t MaxOnCaller(int64_t on_device) {
  const int64_t cheap = std::min(on_device, RunCostModel::kMaxCheapNanoseconds);
  return cheap + cheap / 4 + (on_device - cheap) / 2;
}
// Two trials that are slower than the device by this factor end the trials.
constexpr int64_t kHopelessRatio = 4;
// After this many runs behind other work, the run is part of something larger.
constexpr int kMaxRunsBehindOthers = 256;
// Factor by which the number of runs between two trials grows.
constexpr int kRunsGrowth = 4;
constexpr int kMaxRunsToTrial = 1 << 24;
constexpr int kRunsAfterClear = 1 << 16;
// Longer runs on the caller are re-evaluated, because several processors might take half the time.
constexpr int64_t kMinRetriedNanoseconds = 50'000;

}  // namespace

void RunCostModel::ObserveOnDevice(int64_t elapsed) {
  const bool is_proof = elapsed < kMaxProofNanoseconds;
  if (is_proof) is_proven_.store(true, std::memory_order_relaxed);
  if (place_.load(std::memory_order_relaxed) != Place::kTryingDevice) return;
  if (is_proof && is_tiny_.load(std::memory_order_relaxed)) return TryCaller(kHopNanoseconds);
  if (!IsTried(elapsed)) return;
  const int64_t median = Median();
  if (median < kMaxCallerNanoseconds) return TryCaller(median);
  Settle(Place::kResting, /*is_clear=*/median > kHopelessRatio * kMaxCallerNanoseconds);
}

void RunCostModel::TryDevice() {
  trials_.store(0, std::memory_order_relaxed);
  behind_others_.store(0, std::memory_order_relaxed);
  Decide(Place::kTryingDevice);
}

void RunCostModel::Settle(Place place, bool is_clear) {
  int runs = next_runs_to_trial_.load(std::memory_order_relaxed);
  if (is_clear) runs = std::max(runs, kRunsAfterClear);
  runs_to_trial_.store(runs, std::memory_order_relaxed);
  next_runs_to_trial_.store(std::min(kRunsGrowth * runs, kMaxRunsToTrial),
                            std::memory_order_relaxed);
  slow_runs_.store(0, std::memory_order_relaxed);
  // The next trial measures its time on the device, too.
  if (place == Place::kResting) is_tiny_.store(false, std::memory_order_relaxed);
  Decide(place);
}

void RunCostModel::ObserveResting() {
  if (place_.load(std::memory_order_relaxed) == Place::kResting && IsDue()) TryDevice();
}

void RunCostModel::TryCaller(int64_t on_device) {
  on_device_.store(on_device, std::memory_order_relaxed);
  trials_.store(0, std::memory_order_relaxed);
  Decide(Place::kTryingCaller);
}

bool RunCostModel::IsTried(int64_t elapsed) {
  const int trial = trials_.fetch_add(1, std::memory_order_relaxed);
  if (trial < kTrials) times_[trial].store(elapsed, std::memory_order_relaxed);
  return trial >= kTrials - 1;
}

int64_t RunCostModel::Median() const {
  std::array<int64_t, kTrials> times;
  for (int i = 0; i < kTrials; ++i) times[i] = times_[i].load(std::memory_order_relaxed);
  std::nth_element(times.begin(), times.begin() + kTrials / 2, times.end());
  return times[kTrials / 2];
}

void RunCostModel::ObserveOnCaller(int64_t elapsed) {
  const Place place = place_.load(std::memory_order_relaxed);
  if (place == Place::kAlwaysCaller) return;
  if (place == Place::kCaller) {
    // The time of a run may depend on its operands.
    if (elapsed < 2 * kMaxCallerNanoseconds) {
      slow_runs_.store(0, std::memory_order_relaxed);
    } else if (slow_runs_.fetch_add(1, std::memory_order_relaxed) + 1 >= kMaxSurprises) {
      return Settle(Place::kResting, /*is_clear=*/false);
    }
    if (elapsed > kMinRetriedNanoseconds && IsDue()) TryDevice();
    return;
  }
  const int64_t on_device = on_device_.load(std::memory_order_relaxed);
  const bool is_hopeless =
      trials_.load(std::memory_order_relaxed) == 1 &&
      std::min(times_[0].load(std::memory_order_relaxed), elapsed) > kHopelessRatio * on_device;
  if (!IsTried(elapsed) && !is_hopeless) return;
  if (!is_hopeless && Median() <= MaxOnCaller(on_device)) {
    return Settle(Place::kCaller, /*is_clear=*/false);
  }
  // The estimate was too small: measure the device's time.
  if (is_tiny_.exchange(false, std::memory_order_relaxed)) return TryDevice();
  Settle(Place::kResting, is_hopeless);
}

void RunCostModel::ObserveBehindOthers() {
  const Place place = place_.load(std::memory_order_relaxed);
  if (place >= Place::kCaller) return;
  if (is_tiny_.load(std::memory_order_relaxed)) return;  // a single run on the idle device decides
  if (behind_others_.fetch_add(1, std::memory_order_relaxed) + 1 >= kMaxRunsBehindOthers) {
    Settle(Place::kResting, /*is_clear=*/false);
  }
}

void RunCostModel::ObserveWait(int64_t waited) {
  if (waited < kMinSurpriseNanoseconds) {
    surprises_.store(0, std::memory_order_relaxed);
    return;
  }
  const int surprises = surprises_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (surprises >= kMaxSurprises || waited >= kMaxSurprises * kMinSurpriseNanoseconds) {
    nanoseconds_.store(waited, std::memory_order_relaxed);
  }
}

}  // namespace onexpu
