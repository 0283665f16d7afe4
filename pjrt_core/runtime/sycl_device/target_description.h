// What the compiler may assume of a device, asked from the device. Pure functions; any thread.
#ifndef PJRT_CORE_RUNTIME_SYCL_DEVICE_TARGET_DESCRIPTION_H_
#define PJRT_CORE_RUNTIME_SYCL_DEVICE_TARGET_DESCRIPTION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/base/environment.h"
#include "pjrt_core/program/program_generated.h"
#include "sycl/sycl.hpp"

namespace onexpu {

// A FlatBuffer whose root is program.TargetDescription.
std::vector<uint8_t> DescribeTarget(const sycl::device& device, ScheduleChoice schedules);

// The largest single allocation, if it is smaller than the memory: 4 GiB on dg2 and mtl. Only GPUs
// have such a limit.
std::optional<size_t> AllocationLimit(const sycl::device& device);

// Whether a Program that was compiled for `wanted` runs on `device`: FAILED_PRECONDITION says what
// is missing.
absl::Status CheckTarget(const program::TargetDescription& wanted,
                         const program::TargetDescription& device);

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_SYCL_DEVICE_TARGET_DESCRIPTION_H_
