// The place of a library's asynchronous routine among a queue's commands.
//
// On the CPU device oneDNN's primitives and oneMKL's routines are SYCL host tasks. SYCL holds back
// the commands that come after one, and while a thread of its own hands them to the driver it takes
// them for complete (device/event_status.h): a second host task behind such a command runs before
// it, and wrong numbers come of that, once in some two thousand training steps on a busy machine
// (SYCL 2026.1; measured). So nothing may follow a host task before it is complete: the submitting
// thread waits for it. This is the launcher thread, unless the Program is cheap. Routines that have
// a plain host function avoid host tasks (host_call.h).
#ifndef PJRT_CORE_CPU_DEVICE_LIBRARY_ORDER_H_
#define PJRT_CORE_CPU_DEVICE_LIBRARY_ORDER_H_

#include <utility>
#include <vector>

#include "pjrt_core/device/device_traits.h"
#include "pjrt_core/device/event_status.h"
#include "sycl/sycl.hpp"

namespace onexpu {

inline bool RunsLibrariesInHostTasks(const sycl::queue& queue) {
  return TraitsOf(queue.get_device()).runs_libraries_in_host_tasks;
}

// `submit` takes the events that the routine has to wait for and returns the routine's own, which
// what comes after waits for. The routine may go to another queue. Throws what `submit` throws.
template <typename Submit>
void SubmitInOrder(sycl::queue& queue, Submit&& submit) {
  const std::vector<sycl::event> before = {queue.ext_oneapi_submit_barrier()};
  const sycl::event done = std::forward<Submit>(submit)(before);
  if (RunsLibrariesInHostTasks(queue)) {
    WaitUntilComplete(done);
  } else {
    queue.ext_oneapi_submit_barrier({done});
  }
}

}  // namespace onexpu

#endif  // PJRT_CORE_CPU_DEVICE_LIBRARY_ORDER_H_
