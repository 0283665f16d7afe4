// The SYCL context of each device, and which devices copy directly from each other's memory.
//
// Drivers make an allocation resident on every device of its context that has access to it. With
// several GPUs in one context, host memory fills as device memory does, or nothing can be allocated
// at all. So each root device has its own context. Tiles of a root device share one, and so do root
// devices between which copies are verified.
#ifndef PJRT_CORE_RUNTIME_SYCL_DEVICE_DEVICE_CONTEXTS_H_
#define PJRT_CORE_RUNTIME_SYCL_DEVICE_DEVICE_CONTEXTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sycl/sycl.hpp"

namespace onexpu {

struct DeviceContexts {
  std::vector<sycl::context> contexts;  // by device
  // By device, then by the other device: whether copies from the other's memory are verified.
  std::vector<std::vector<bool>> copies_from;
  // The context of the pinned host memory that GPUs exchange data through.
  sycl::context staging;
};

// `devices` must not be empty. With `may_copy_directly`, copies between GPUs are tried if the
// runtime reports peer access.
absl::StatusOr<DeviceContexts> MakeDeviceContexts(absl::Span<const sycl::device> devices,
                                                  bool may_copy_directly);

// Returns the root device of a tile, or `device` if it is a root device.
sycl::device RootDevice(sycl::device device);

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_SYCL_DEVICE_DEVICE_CONTEXTS_H_
