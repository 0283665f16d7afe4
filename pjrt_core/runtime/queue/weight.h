// How long the runs of one Program take, or of eager launches alike, and where they are best run.
// Thread-safe.
//
// An estimate, and what experience makes of it. Work passes for light only after a run has shown
// it, unless its estimate is trusted: a wrong one must not make anybody wait who only asked.
//
// Where the device has a caller's queue (caller_queue.h), work that follows any queue may run on
// the thread that submits it: without a thread hop and with a third of the cost of a command, but
// on one processor. Which of the two is faster depends on the machine and on the work; so the first
// runs that have nothing before them go both ways, and the better way stays. They are runs of a
// process that has just begun, on a machine that may be busy with that: what stays on the device is
// tried again later, less and less often, and so is what the caller takes long for.
#ifndef PJRT_CORE_RUNTIME_QUEUE_WEIGHT_H_
#define PJRT_CORE_RUNTIME_QUEUE_WEIGHT_H_

#include <array>
#include <atomic>
#include <cstdint>

namespace onexpu {

class Weight {
 public:
  // Work below this is not worth a thread hop (about 20 us measured): a thread that asks for it
  // waits for it.
  static constexpr int64_t kLightNanoseconds = 40'000;

  explicit Weight(int64_t estimated_nanoseconds)
      : nanoseconds_(estimated_nanoseconds), is_tiny_(estimated_nanoseconds < kTinyNanoseconds) {}

  int64_t nanoseconds() const { return nanoseconds_.load(std::memory_order_relaxed); }
  bool is_light() const { return is_proven() && nanoseconds() <= kLightNanoseconds; }
  bool is_proven() const { return is_proven_.load(std::memory_order_relaxed); }

  // The estimate needs no proof. Before the first run.
  void TrustEstimate() { is_proven_.store(true, std::memory_order_relaxed); }
  // The work may run on the caller's queue as on any other; `always`: whatever experience says.
  // Before the first run.
  void AllowCaller(bool always) { Decide(always ? Place::kAlwaysCaller : Place::kTryingDevice); }
  // Whether the next run, if nothing is before it, goes to the caller's queue.
  bool prefers_caller() const {
    return place_.load(std::memory_order_relaxed) >= Place::kTryingCaller;
  }
  // Whether it matters that the next run has nothing before it.
  bool wants_idle_device() const {
    return place_.load(std::memory_order_relaxed) > Place::kResting;
  }
  // Whether the time of a run on the device that has nothing before it is worth taking.
  bool wants_time() const {
    return !is_proven() || place_.load(std::memory_order_relaxed) == Place::kTryingDevice;
  }

  // A run on the device's queue was complete this long after its submission began, with nothing
  // before it.
  void ObserveOnDevice(int64_t elapsed);
  // A run on the caller's queue took this long.
  void ObserveOnCaller(int64_t elapsed);
  // A run that wanted an idle device had to go behind other work.
  void ObserveBehindOthers();
  // A run that did not want an idle device.
  void ObserveResting();
  // Somebody waited this long for work that passed for light.
  void Learn(int64_t waited);

 private:
  // kResting: on the device, until it is tried again.
  enum class Place : uint8_t {
    kDevice,
    kResting,
    kTryingDevice,
    kTryingCaller,
    kCaller,
    kAlwaysCaller
  };

  // One command on some 100 KB.
  static constexpr int64_t kTinyNanoseconds = 10'000;

  void Decide(Place place) { place_.store(place, std::memory_order_relaxed); }
  void TryDevice();
  void TryCaller(int64_t on_device);
  // Until the next trial. `is_clear`: no busy moment makes such a difference.
  void Settle(Place place, bool is_clear);
  // Whether it was the last trial of this way.
  bool IsTried(int64_t elapsed);
  // Whether the place has had the runs that it was settled for.
  bool IsDue() { return runs_to_trial_.fetch_sub(1, std::memory_order_relaxed) <= 1; }

  std::atomic<int64_t> nanoseconds_;
  std::atomic<bool> is_tiny_;  // and has not shown otherwise
  std::atomic<bool> is_proven_{false};
  std::atomic<int> surprises_{0};  // in what Learn is told
  std::atomic<int> slow_runs_{0};  // in a row, on the caller's queue

  // Runs each way, of which the median counts: the first ones have something to set up.
  static constexpr int kTrials = 8;
  int64_t Median() const;

  std::atomic<Place> place_{Place::kDevice};
  // Of the way that is tried now. Threads that race lose a trial at most.
  std::array<std::atomic<int64_t>, kTrials> times_ = {};
  std::atomic<int> trials_{0};
  std::atomic<int64_t> on_device_{0};
  std::atomic<int> behind_others_{0};
  std::atomic<int> runs_to_trial_{0};
  std::atomic<int> next_runs_to_trial_{1 << 7};
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_QUEUE_WEIGHT_H_
