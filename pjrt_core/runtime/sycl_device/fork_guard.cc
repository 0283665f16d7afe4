#include "pjrt_core/runtime/sycl_device/fork_guard.h"

#include <pthread.h>

#include <atomic>

namespace onexpu {
namespace {

std::atomic<bool> forked{false};

}  // namespace

void InstallForkGuard() {
  static const int installed =
      pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  (void)installed;
}

absl::Status CheckNotForked() {
  if (!forked.load(std::memory_order_relaxed)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "onexpu: this process was forked from one that already used the device, whose state does not "
      "survive fork(). Start workers with the 'spawn' or 'forkserver' method, or use the device "
      "only "
      "after forking.");
}

}  // namespace onexpu
