// The interface of a library of custom kernels to onexpu.load_library: one table, plain C.
//
// onexpu/custom_kernel.h defines the table in the library; other code need not include this file.
#ifndef ONEXPU_KERNEL_LIBRARY_H_
#define ONEXPU_KERNEL_LIBRARY_H_

#include <stdint.h>

#include "xla/ffi/api/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

// Counts up whenever what is below, or what a handler is given, changes its meaning. A library of
// another number is refused, and nothing but the number is read of it.
#ifndef ONEXPU_KERNEL_ABI_VERSION
#define ONEXPU_KERNEL_ABI_VERSION 1
#endif

typedef struct OnexpuLibraryKernel {
  const struct OnexpuLibraryKernel* next;
  const char* name;
  XLA_FFI_Handler* execute;
} OnexpuLibraryKernel;

typedef struct OnexpuKernelLibrary {
  uint32_t abi_version;              // ONEXPU_KERNEL_ABI_VERSION; stays the first field for ever
  uint32_t sycl_major_version;       // of the SYCL runtime whose sycl::queue the handlers take
  const OnexpuLibraryKernel* first;  // in no order; null for none
} OnexpuKernelLibrary;

// The one function that a library exports, under this name.
#define ONEXPU_KERNEL_LIBRARY_SYMBOL "onexpu_kernel_library"
typedef const OnexpuKernelLibrary* OnexpuKernelLibraryFn(void);

#ifdef __cplusplus
}
#endif

#endif  // ONEXPU_KERNEL_LIBRARY_H_
