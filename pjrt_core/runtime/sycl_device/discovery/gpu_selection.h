// Selects the GPUs that a client uses.
#ifndef PJRT_CORE_RUNTIME_SYCL_DEVICE_DISCOVERY_GPU_SELECTION_H_
#define PJRT_CORE_RUNTIME_SYCL_DEVICE_DISCOVERY_GPU_SELECTION_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sycl/sycl.hpp"

namespace onexpu {

struct GpuSelection {
  std::vector<sycl::device> devices;  // Of one kind, in the driver's order.
  std::vector<std::string> left_out;  // Names of the others.
};

// Whether a value of ONEAPI_DEVICE_SELECTOR selects Level Zero devices by their ordinals alone,
// such as "level_zero:0,1" or "level_zero:0;level_zero:2.1". Filters of other back ends do not
// count.
bool SelectsByOrdinal(absl::string_view selector);

// Keeps GPUs of one kind: a program that is compiled for one of the client's devices runs on all of
// them. Discrete GPUs come before integrated ones, then those with more compute units.
GpuSelection SelectGpus(const std::vector<sycl::device>& gpus);

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_SYCL_DEVICE_DISCOVERY_GPU_SELECTION_H_
