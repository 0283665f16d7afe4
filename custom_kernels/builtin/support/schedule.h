// The schedule of a built-in handler. A CPU has few work-items that iterate over contiguous memory;
// a GPU has many that access adjacent elements. Both give the same results. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SUPPORT_SCHEDULE_H_
#define CUSTOM_KERNELS_BUILTIN_SUPPORT_SCHEDULE_H_

#include "sycl/sycl.hpp"

namespace onexpu {

// Whether the device is a CPU, unless ONEXPU_SCHEDULES is gpu or cpu, for tests without a GPU. (The
// core rejects other values at startup.)
bool HasCpuSchedules(const sycl::queue& queue);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SUPPORT_SCHEDULE_H_
