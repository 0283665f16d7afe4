// Finds the SYCL devices that the client uses.
//
// The client calls it once, before any other SYCL call, because the OpenCL loader reads its
// environment at the first one. Thread-compatible.
#ifndef PJRT_CORE_RUNTIME_SYCL_DEVICE_DISCOVERY_DEVICE_DISCOVERY_H_
#define PJRT_CORE_RUNTIME_SYCL_DEVICE_DISCOVERY_DEVICE_DISCOVERY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sycl/sycl.hpp"

namespace onexpu {

struct DiscoveredDevices {
  std::vector<sycl::device> devices;
  // Sentences about GPUs of the machine that are not among them: why, and what to do.
  std::vector<std::string> notes;
};

// Level Zero GPUs of one kind, each tile a device; otherwise the oneAPI CPU device (OpenCL), which
// is in the list `num_cpu_devices` times. All of one platform. NOT_FOUND says what was searched and
// what to install.
absl::StatusOr<DiscoveredDevices> DiscoverDevices(int64_t num_cpu_devices);

// Sets the paths of the CPU driver and of SYCL's adapters, which are in libsycl's directory: the
// wheel's own registration of the driver names a path that does not exist. Disables passes of the
// driver's compiler that miscompile or crash.
void PrepareCpuDriver();

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_SYCL_DEVICE_DISCOVERY_DEVICE_DISCOVERY_H_
