// Arrays to and from DLPack's capsules, for Python.
#ifndef ONEXPU_NATIVE_DLPACK_H_
#define ONEXPU_NATIVE_DLPACK_H_

#include "pybind11/pybind11.h"

namespace onexpu::native {

// make_capsule, read_capsule.
void BindDlpack(pybind11::module_& module);

}  // namespace onexpu::native

#endif  // ONEXPU_NATIVE_DLPACK_H_
