// Tables of libraries that must be refused.
#include <onexpu/kernel_library.h>
#include <stddef.h>
#include <sycl/version.hpp>

static XLA_FFI_Error* Handler(XLA_FFI_CallFrame* frame) {
  (void)frame;
  return NULL;
}

static const OnexpuLibraryKernel second = {NULL, "same", Handler};
static const OnexpuLibraryKernel first = {&second, "same", Handler};
static const OnexpuKernelLibrary duplicates = {ONEXPU_KERNEL_ABI_VERSION, __LIBSYCL_MAJOR_VERSION, &first};
static const OnexpuKernelLibrary other_sycl = {ONEXPU_KERNEL_ABI_VERSION, 1, NULL};

__attribute__((visibility("default"))) const OnexpuKernelLibrary* onexpu_kernel_library(void) {
  (void)duplicates, (void)other_sycl;
  return &TABLE;
}
