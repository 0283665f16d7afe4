// Queries whether the command of a SYCL event is complete, and waits for it.
//
// The functions of sycl::event can report completion too early (SYCL 2026.1). If SYCL holds a
// command back behind a host task, they first look for the driver's event, which does not exist
// yet. Then they look for SYCL's command, which is gone if a SYCL thread has passed it to the
// driver in the meantime. An event with neither is reported complete. A second query finds the
// driver's event.
//
// Thread-safe. Throws the exceptions of sycl::event.
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
