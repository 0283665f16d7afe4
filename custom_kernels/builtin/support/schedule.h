// Which schedule a handler of this room takes: a CPU's work-items are few and walk over memory, a
// GPU's are many and stand side by side. Both give the same results. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SUPPORT_SCHEDULE_H_
#define CUSTOM_KERNELS_BUILTIN_SUPPORT_SCHEDULE_H_

#include "sycl/sycl.hpp"

namespace onexpu {

// As the device is, unless ONEXPU_SCHEDULES says gpu or cpu, for tests without a GPU. (The core
// refuses other words when it starts.)
bool HasCpuSchedules(const sycl::queue& queue);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SUPPORT_SCHEDULE_H_
