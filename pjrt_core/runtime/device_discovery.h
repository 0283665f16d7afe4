// Finds the SYCL devices that the client serves.
//
// Called once, by whoever makes the client, before any other SYCL call: the OpenCL loader reads its
// environment at the first one. Thread-compatible.
#ifndef PJRT_CORE_RUNTIME_DEVICE_DISCOVERY_H_
#define PJRT_CORE_RUNTIME_DEVICE_DISCOVERY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "sycl/sycl.hpp"

namespace onexpu {

// Level Zero GPUs, each tile a device; otherwise the oneAPI CPU device (OpenCL), which is in the
// list `num_cpu_devices` times. All of one platform. NOT_FOUND says what was searched and what to
// install.
absl::StatusOr<std::vector<sycl::device>> DiscoverDevices(int64_t num_cpu_devices);

// Lets the OpenCL loader find the CPU driver that lies beside libsycl: the wheel's own registration
// names a dead path. Leaves a variable that the user has set alone. Keeps the driver's compiler
// from a pass that crashes.
void PrepareCpuDriver();

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_DEVICE_DISCOVERY_H_
