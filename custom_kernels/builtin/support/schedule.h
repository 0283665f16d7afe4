// The schedule of a built-in handler. A CPU has few work-items that iterate over contiguous memory;
// a GPU has many that access adjacent elements. Both give the same results. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SUPPORT_SCHEDULE_H_
#define CUSTOM_KERNELS_BUILTIN_SUPPORT_SCHEDULE_H_

#include <cstdint>

#include "sycl/sycl.hpp"

namespace onexpu {

// Whether the device is a CPU, unless ONEXPU_SCHEDULES is gpu or cpu, for tests without a GPU. (The
// core rejects other values at startup.)
bool HasCpuSchedules(const sycl::queue& queue);

// The rows that a work-item of a CPU processes, one after the other; 1 on a GPU.
int64_t RowsPerWorkItem(const sycl::queue& queue, int64_t columns);

// The adjacent columns of a row that a work-item processes: all on a CPU, one on a GPU. At least 1.
int64_t ColumnsPerWorkItem(const sycl::queue& queue, int64_t columns);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SUPPORT_SCHEDULE_H_
