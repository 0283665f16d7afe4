// The one place where exceptions of SYCL, oneDNN and oneMKL become Statuses.
//
// Out of memory, invalid argument, unimplemented, device lost (ABORTED) and internal stay apart.
// Any thread.
#ifndef PJRT_CORE_DEVICE_LIBRARY_ERRORS_H_
#define PJRT_CORE_DEVICE_LIBRARY_ERRORS_H_

#include <utility>

#include "absl/status/status.h"

namespace onexpu {

// Call inside a catch block only.
absl::Status CurrentLibraryError();

// Whether a library reported a lost device just now. False for errors that work inherits from other
// work, on this device or another: their text is that of DeviceHealth or ErrorOfAnotherDevice.
bool IsDeviceLost(const absl::Status& status);

// What work on one device reports if a device that it waits for failed.
absl::Status ErrorOfAnotherDevice(const absl::Status& status);

// Runs `body`, which returns a Status and may throw.
template <typename F>
absl::Status CatchLibraryErrors(F&& body) {
  try {
    return std::forward<F>(body)();
  } catch (...) {
    return CurrentLibraryError();
  }
}

}  // namespace onexpu

#endif  // PJRT_CORE_DEVICE_LIBRARY_ERRORS_H_
