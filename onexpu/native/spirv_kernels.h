// Python's way to SPIRV-Tools.
#ifndef ONEXPU_NATIVE_SPIRV_KERNELS_H_
#define ONEXPU_NATIVE_SPIRV_KERNELS_H_

#include "pybind11/pybind11.h"

namespace onexpu::native {

// validate_spirv.
void BindSpirvKernels(pybind11::module_& module);

}  // namespace onexpu::native

#endif  // ONEXPU_NATIVE_SPIRV_KERNELS_H_
