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

// Local to itself (RTLD_LOCAL): its symbols serve nobody else. NOT_FOUND when it does not open or
// is no library of kernels, FAILED_PRECONDITION when it was built against another version of the
// contract or another SYCL runtime; both are closed again, and nothing of them was called.
absl::StatusOr<const OnexpuKernelLibrary*> OpenKernelLibrary(const std::string& path);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_LIBRARY_LOADER_H_
