// Estimates how long the runs of a Program, or of eager launches of one kind, take, and decides
// where they run. Thread-safe.
//
// The model starts from an estimate and corrects it with measured times. Work is classified as
// cheap only after a run has proven it, unless the caller trusts the estimate: a wrong estimate
// must not make a thread wait that only polls.
//
// If the device has a caller queue (caller_queue.h), work that follows any queue may run on the
// thread that submits it. This avoids a thread hop and costs a third of a command, but uses one
// processor. Which path is faster depends on the machine and on the work, so the first runs that
// find the device idle try both paths, and the faster one stays. These runs belong to a process
// that has just started, on a machine that may be busy with that. Work that stays on the device is
// therefore re-evaluated periodically, at growing intervals, and so are expensive runs on the
// caller.
#ifndef PJRT_CORE_CPU_DEVICE_RUN_COST_MODEL_H_
#define PJRT_CORE_CPU_DEVICE_RUN_COST_MODEL_H_

#include <array>
#include <atomic>
#include <cstdint>

namespace onexpu {

class RunCostModel {
 public:
  // Waiting for work up to this limit costs less than a thread hop (about 20 us measured).
  static constexpr int64_t kMaxCheapNanoseconds = 40'000;

  explicit RunCostModel(int64_t estimated_nanoseconds)
      : nanoseconds_(estimated_nanoseconds),
        is_tiny_(estimated_nanoseconds < kMaxTinyNanoseconds) {}

  int64_t nanoseconds() const { return nanoseconds_.load(std::memory_order_relaxed); }
  bool is_cheap() const { return is_proven() && nanoseconds() <= kMaxCheapNanoseconds; }
  bool is_proven() const { return is_proven_.load(std::memory_order_relaxed); }

  // Accepts the estimate without a proving run. Call before the first run.
  void TrustEstimate() { is_proven_.store(true, std::memory_order_relaxed); }
  // The work may run on the caller's queue as on any other; `always`: regardless of the measured
  // times. Call before the first run.
  void AllowCaller(bool always) { Decide(always ? Place::kAlwaysCaller : Place::kTryingDevice); }
  // Whether the next run goes to the caller's queue if the device is idle.
  bool prefers_caller() const {
    return place_.load(std::memory_order_relaxed) >= Place::kTryingCaller;
  }
  // Whether the next run should find the device idle.
  bool wants_idle_device() const {
    return place_.load(std::memory_order_relaxed) > Place::kResting;
  }
  // Whether to measure a run on the idle device.
  bool wants_time() const {
    return !is_proven() || place_.load(std::memory_order_relaxed) == Place::kTryingDevice;
  }

  // A run on the idle device's queue was complete this long after its submission began.
  void ObserveOnDevice(int64_t elapsed);
  // A run on the caller's queue took this long.
  void ObserveOnCaller(int64_t elapsed);
  // A run that should have found the device idle was queued behind other work.
  void ObserveBehindOthers();
  // A run that does not need an idle device.
  void ObserveResting();
  // A thread waited this long for work that was classified as cheap.
  void ObserveWait(int64_t waited);

 private:
  // kResting: on the device, until the next trial.
  enum class Place : uint8_t {
    kDevice,
    kResting,
    kTryingDevice,
    kTryingCaller,
    kCaller,
    kAlwaysCaller
  };

  // The estimate for one command on some 100 KB.
  static constexpr int64_t kMaxTinyNanoseconds = 10'000;

  void Decide(Place place) { place_.store(place, std::memory_order_relaxed); }
  void TryDevice();
  void TryCaller(int64_t on_device);
  // Keeps `place` until the next trial. `is_clear`: the difference is too large for a momentary
  // load to explain.
  void Settle(Place place, bool is_clear);
  // Whether it was the last trial of this path.
  bool IsTried(int64_t elapsed);
  // Whether the place has had the number of runs that it was settled for.
  bool IsDue() { return runs_to_trial_.fetch_sub(1, std::memory_order_relaxed) <= 1; }

  std::atomic<int64_t> nanoseconds_;
  std::atomic<bool> is_tiny_;  // by its estimate; cleared if a run shows otherwise
  std::atomic<bool> is_proven_{false};
  std::atomic<int> surprises_{0};  // consecutive waits of at least kMinSurpriseNanoseconds
  std::atomic<int> slow_runs_{0};  // consecutive, on the caller's queue

  // Runs of each path. The median decides, because the first runs include setup.
  static constexpr int kTrials = 8;
  int64_t Median() const;

  std::atomic<Place> place_{Place::kDevice};
  // Of the path on trial. Threads that race lose at most one trial.
  std::array<std::atomic<int64_t>, kTrials> times_ = {};
  std::atomic<int> trials_{0};
  std::atomic<int64_t> on_device_{0};
  std::atomic<int> behind_others_{0};
  std::atomic<int> runs_to_trial_{0};
  std::atomic<int> next_runs_to_trial_{1 << 7};
};

}  // namespace onexpu

#endif  // PJRT_CORE_CPU_DEVICE_RUN_COST_MODEL_H_
