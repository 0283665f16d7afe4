#include "pjrt_core/runtime/staging_pool.h"

#include <utility>

namespace onexpu {

StagingPool::StagingPool(UsmSource source, size_t limit)
    : source_(std::move(source)),
      pool_("the GPUs' exchange (pinned host memory)",
            {.total = limit, .single = source_.max_allocation_bytes},
            {.allocate =
                 [this](size_t bytes) { return source_.Allocate(MemoryKind::kPinnedHost, bytes); },
             .free = [this](void* memory, size_t bytes) { source_.Free(memory, bytes); }}) {}

}  // namespace onexpu
