// Level Zero's memory functions that SYCL does not expose. For devices of that backend.
//
// Thread-safe. The functions are the loader's, found at run time, because the core also serves
// machines without Level Zero.
#ifndef PJRT_CORE_RUNTIME_MEMORY_LEVEL_ZERO_MEMORY_H_
#define PJRT_CORE_RUNTIME_MEMORY_LEVEL_ZERO_MEMORY_H_

#include <cstddef>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/device/device.h"
#include "sycl/sycl.hpp"

namespace onexpu {

// Memory of one allocation above the device's `max_mem_alloc_size`. Kernels that access it must be
// built with `kLargeBufferOption`. UNIMPLEMENTED without a Level Zero loader.
absl::StatusOr<void*> AllocateAboveLimit(MemoryKind kind, size_t bytes, size_t alignment,
                                         const sycl::device& device, const sycl::context& context);
void FreeAboveLimit(void* memory, const sycl::context& context);

// The device's free memory in bytes, or nullopt if the driver does not report it. Drivers
// from 26.18 on do, older ones only if the process may use Sysman.
std::optional<size_t> FreeDeviceMemory(const sycl::device& device);

// The option of a module whose kernels access more than 4 GiB through one pointer.
inline constexpr char kLargeBufferOption[] = "-ze-opt-greater-than-4GB-buffer-required";

// Whether the environment asks SYCL to lift the limit and to build every module with that option,
// so that kernels which onexpu does not build have it, too.
bool AllModulesHaveLargeBufferOption();

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_MEMORY_LEVEL_ZERO_MEMORY_H_
