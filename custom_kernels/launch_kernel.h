// Submits a kernel of a SpirvModule with typed arguments. For handlers; may throw SYCL exceptions,
// which the caller of a handler catches.
#ifndef CUSTOM_KERNELS_LAUNCH_KERNEL_H_
#define CUSTOM_KERNELS_LAUNCH_KERNEL_H_

#include <cstddef>
#include <type_traits>

#include "absl/status/status.h"
#include "custom_kernels/kernel_target.h"
#include "custom_kernels/spirv_module.h"
#include "sycl/sycl.hpp"

namespace onexpu {

// A one-dimensional launch; `local` 0 leaves the work-group to the device. Nothing happens for
// `global` 0.
struct KernelRange {
  size_t global = 0;
  size_t local = 0;
};

namespace internal {

template <typename T>
void SetKernelArgument(sycl::handler& handler, int index, const T& argument) {
  if constexpr (std::is_pointer_v<T>) {
    handler.set_arg(index, argument);
  } else {
    static_assert(std::is_trivially_copyable_v<T>);
    handler.set_arg(index,
                    sycl::ext::oneapi::experimental::raw_kernel_arg(&argument, sizeof(argument)));
  }
}

}  // namespace internal

template <typename... Arguments>
absl::Status LaunchKernel(sycl::queue& queue, SpirvModule& module, KernelRange range,
                          const Arguments&... arguments) {
  if (range.global == 0) return absl::OkStatus();
  absl::StatusOr<const sycl::kernel*> kernel = module.Kernel(queue);
  if (!kernel.ok()) return kernel.status();
  queue.submit([&](sycl::handler& handler) {
    int index = 0;
    (internal::SetKernelArgument(handler, index++, arguments), ...);
    if (range.local == 0) {
      handler.parallel_for(sycl::range<1>(range.global), **kernel);
    } else {
      handler.parallel_for(sycl::nd_range<1>(range.global, range.local), **kernel);
    }
  });
  CountKernelLaunch();
  return absl::OkStatus();
}

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_LAUNCH_KERNEL_H_
