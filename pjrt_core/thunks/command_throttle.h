// Limits the queue length of a Program that may wait: the device always has work, but at most two
// batches of commands. On any device a command in flight holds memory.
//
// The CPU device has small batches. The cost of a command grows with the commands in flight around
// library calls (a step of ResNet-50, 1545 commands: 66 ms, without a limit 500 ms). A thread that
// waits in the driver also computes. If it submits for too long, the driver replaces it, and three
// threads share two cores when it returns. Matrix products then take 1.6 times as long (a step of
// TensorFlow's transformer: 80 ms with batches of 2 to 8, 90 ms with 32 or 64). If the thread
// sleeps instead of waiting in the driver, it is not replaced, and GPT's step takes 145 ms instead
// of 100.
//
// Lives for one execution, on one thread.
#ifndef PJRT_CORE_THUNKS_COMMAND_THROTTLE_H_
#define PJRT_CORE_THUNKS_COMMAND_THROTTLE_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "sycl/sycl.hpp"

namespace onexpu {

class CommandThrottle {
 public:
  CommandThrottle(sycl::queue& queue, int64_t commands_per_batch)
      : queue_(queue), batch_(commands_per_batch) {}
  CommandThrottle(const CommandThrottle&) = delete;
  CommandThrottle& operator=(const CommandThrottle&) = delete;

  // To be called after each command that was submitted. After each batch it waits for the one
  // before. Throws sycl::exception.
  void CountCommand() {
    if (++commands_ % batch_ == 0) WaitForBatchBefore();
  }

 private:
  void WaitForBatchBefore() {
    std::optional<sycl::event> last = queue_.ext_oneapi_get_last_event();
    if (batch_before_.has_value()) batch_before_->wait_and_throw();
    batch_before_ = std::move(last);
  }

  sycl::queue& queue_;
  const int64_t batch_;  // commands
  int64_t commands_ = 0;
  std::optional<sycl::event> batch_before_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_COMMAND_THROTTLE_H_
