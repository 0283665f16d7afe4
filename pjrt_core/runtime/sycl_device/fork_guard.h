// Detects that this process is a fork()ed child of one that used SYCL: its threads and device state
// did not come along.
#ifndef PJRT_CORE_RUNTIME_SYCL_DEVICE_FORK_GUARD_H_
#define PJRT_CORE_RUNTIME_SYCL_DEVICE_FORK_GUARD_H_

#include "absl/status/status.h"

namespace onexpu {

// From here on a fork() is noticed. Idempotent.
void InstallForkGuard();

// FAILED_PRECONDITION in a child of a process that had installed the guard. Costs one load.
absl::Status CheckNotForked();

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_SYCL_DEVICE_FORK_GUARD_H_
