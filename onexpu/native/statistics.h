// What Python can ask about devices, memory and transfers.
#ifndef ONEXPU_NATIVE_STATISTICS_H_
#define ONEXPU_NATIVE_STATISTICS_H_

#include "pybind11/pybind11.h"

namespace onexpu::native {

// statistics, devices, memory_stats, library_faults, describe_gpus, cancel_export.
void BindStatistics(pybind11::module_& module);

}  // namespace onexpu::native

#endif  // ONEXPU_NATIVE_STATISTICS_H_
