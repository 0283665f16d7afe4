// Allocates memory from the driver, for the pools.
//
// Immutable value; thread-safe.
#ifndef PJRT_CORE_RUNTIME_MEMORY_USM_SOURCE_H_
#define PJRT_CORE_RUNTIME_MEMORY_USM_SOURCE_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "pjrt_core/device/device.h"
#include "sycl/sycl.hpp"

namespace onexpu {

struct UsmSource {
  sycl::device device;
  sycl::context context;
  size_t max_allocation_bytes;  // larger ones get relaxed limits (level_zero_memory.h)

  // RESOURCE_EXHAUSTED if there is none; the driver's error otherwise.
  absl::StatusOr<void*> Allocate(MemoryKind kind, size_t bytes) const;
  void Free(void* memory, size_t bytes) const;
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_MEMORY_USM_SOURCE_H_
