// Python's way to shared libraries of custom kernels.
#ifndef ONEXPU_NATIVE_LIBRARIES_H_
#define ONEXPU_NATIVE_LIBRARIES_H_

#include "pybind11/pybind11.h"

namespace onexpu::native {

// load_kernel_library.
void BindLibraries(pybind11::module_& module);

}  // namespace onexpu::native

#endif  // ONEXPU_NATIVE_LIBRARIES_H_
