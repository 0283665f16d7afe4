// Keeps the queue of a Program that may wait short: the device always has work, and never more than
// twice kBatch commands of it. On the CPU device the cost of a command grows with the commands that
// are in flight around library calls (a step of ResNet-50, 1545 commands: 66 ms with batches of 12
// to 32, 76 ms with 64, 500 ms without); on any device a command in flight holds memory.
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
  static constexpr int64_t kBatch = 32;

  explicit CommandThrottle(sycl::queue& queue) : queue_(queue) {}
  CommandThrottle(const CommandThrottle&) = delete;
  CommandThrottle& operator=(const CommandThrottle&) = delete;

  // To be called after each command that was submitted. Every kBatch commands it waits for the
  // batch before. Throws sycl::exception.
  void CountCommand() {
    if (++commands_ % kBatch == 0) WaitForBatchBefore();
  }

 private:
  void WaitForBatchBefore() {
    std::optional<sycl::event> last = queue_.ext_oneapi_get_last_event();
    if (batch_before_.has_value()) batch_before_->wait_and_throw();
    batch_before_ = std::move(last);
  }

  sycl::queue& queue_;
  int64_t commands_ = 0;
  std::optional<sycl::event> batch_before_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_COMMAND_THROTTLE_H_
