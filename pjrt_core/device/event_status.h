// Whether the command of a SYCL event is complete, and waiting for that.
//
// sycl::event's own functions can say so too early (SYCL 2026.1): of a command that is held back
// behind somebody's host task they first look for the driver's event, which is not there yet, and
// then for SYCL's command, which is not there any more when a thread of SYCL's has handed it to the
// driver meanwhile. They take what has neither for complete. Asked again, they find the driver's
// event.
//
// Thread-safe. Throw what sycl::event does.
#ifndef PJRT_CORE_DEVICE_EVENT_STATUS_H_
#define PJRT_CORE_DEVICE_EVENT_STATUS_H_

#include "sycl/sycl.hpp"

namespace onexpu {

inline bool IsComplete(const sycl::event& event) {
  const auto is_said_to_be = [&] {
    return event.get_info<sycl::info::event::command_execution_status>() ==
           sycl::info::event_command_status::complete;
  };
  return is_said_to_be() && is_said_to_be();
}

inline void WaitUntilComplete(sycl::event event) {
  event.wait();
  if (!IsComplete(event)) event.wait();
}

}  // namespace onexpu

#endif  // PJRT_CORE_DEVICE_EVENT_STATUS_H_
