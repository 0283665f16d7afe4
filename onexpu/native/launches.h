// Eager launches of kernels on arrays that Python holds.
#ifndef ONEXPU_NATIVE_LAUNCHES_H_
#define ONEXPU_NATIVE_LAUNCHES_H_

#include "pybind11/pybind11.h"

namespace onexpu::native {

// launch.
void BindLaunches(pybind11::module_& module);

}  // namespace onexpu::native

#endif  // ONEXPU_NATIVE_LAUNCHES_H_
