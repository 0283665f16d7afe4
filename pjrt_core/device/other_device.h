// Waiting for work of another device. Thread-safe.
#ifndef PJRT_CORE_DEVICE_OTHER_DEVICE_H_
#define PJRT_CORE_DEVICE_OTHER_DEVICE_H_

#include "absl/status/status.h"
#include "pjrt_core/device/event_status.h"
#include "pjrt_core/device/library_errors.h"
#include "sycl/sycl.hpp"

namespace onexpu {

// An error is that of the other device: it does not mean that the waiting one is lost.
inline absl::Status WaitForAnotherDevice(const sycl::event& event) {
  return ErrorOfAnotherDevice(CatchLibraryErrors([&] {
    WaitUntilComplete(event);
    return absl::OkStatus();
  }));
}

}  // namespace onexpu

#endif  // PJRT_CORE_DEVICE_OTHER_DEVICE_H_
