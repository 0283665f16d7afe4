// Opens a shared library of custom kernels: onexpu/custom_kernel.h is its side of the contract.
//
// Thread-safe. A library that was accepted stays open to the end of the process, for compiled
// programs may call its handlers at any time.
#ifndef CUSTOM_KERNELS_LIBRARY_LOADER_H_
#define CUSTOM_KERNELS_LIBRARY_LOADER_H_

#include <string>

#include "absl/status/statusor.h"
#include "custom_kernels/include/onexpu/kernel_library.h"

namespace onexpu {

// Loads with RTLD_LOCAL: its symbols are not visible to other libraries. NOT_FOUND if it does not
// open or is not a library of kernels, FAILED_PRECONDITION if it was built against another version
// of the interface or another SYCL runtime. In both cases the library is closed, and none of its
// functions was called.
absl::StatusOr<const OnexpuKernelLibrary*> OpenKernelLibrary(const std::string& path);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_LIBRARY_LOADER_H_
