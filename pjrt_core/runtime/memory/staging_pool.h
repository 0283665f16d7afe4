// Pinned host memory that GPUs of one client exchange data through.
//
// Shared by the devices; thread-safe. Its context spans all of them, because memory of one device's
// own context is not pinned memory for the others.
#ifndef PJRT_CORE_RUNTIME_MEMORY_STAGING_POOL_H_
#define PJRT_CORE_RUNTIME_MEMORY_STAGING_POOL_H_

#include <cstddef>
#include <memory>

#include "pjrt_core/runtime/memory/device_memory.h"
#include "pjrt_core/runtime/memory/memory_pool.h"
#include "pjrt_core/runtime/memory/usm_source.h"

namespace onexpu {

class StagingPool {
 public:
  explicit StagingPool(UsmSource source);

  MemoryPool& pool() { return pool_; }

 private:
  const UsmSource source_;
  MemoryPool pool_;
};

// The result of SyclDevice::AllocateStaging.
struct PooledStaging final : StagingMemory {
  explicit PooledStaging(std::shared_ptr<DeviceMemory> block)
      : StagingMemory(block->address()), memory(std::move(block)) {}
  const std::shared_ptr<DeviceMemory> memory;
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_MEMORY_STAGING_POOL_H_
