#include "pjrt_core/runtime/memory/staging_pool.h"

#include <utility>

#include "pjrt_core/runtime/memory/memory_limit.h"

namespace onexpu {

StagingPool::StagingPool(UsmSource source)
    : source_(std::move(source)),
      pool_("the pool for copies between devices (pinned host memory)",
            {.total = PinnedLimit().bytes,
             .single = source_.max_allocation_bytes,
             .source = PinnedLimit().source,
             .remedy = ""},
            {.allocate =
                 [this](size_t bytes) { return source_.Allocate(MemoryKind::kPinnedHost, bytes); },
             .free = [this](void* memory, size_t bytes) { source_.Free(memory, bytes); }}) {}

}  // namespace onexpu
