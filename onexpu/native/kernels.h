// Python's way to SYCL compilation, the kernel registry and FFI handlers.
#ifndef ONEXPU_NATIVE_KERNELS_H_
#define ONEXPU_NATIVE_KERNELS_H_

#include "pybind11/pybind11.h"

namespace onexpu::native {

// kernel_preamble, compile_sycl, register_kernel, register_ffi_handler, register_ffi_type.
void BindKernels(pybind11::module_& module);

}  // namespace onexpu::native

#endif  // ONEXPU_NATIVE_KERNELS_H_
