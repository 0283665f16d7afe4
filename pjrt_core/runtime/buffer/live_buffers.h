// Live buffers by start address, for hand-over between frameworks. Process-wide; thread-safe.
#ifndef PJRT_CORE_RUNTIME_BUFFER_LIVE_BUFFERS_H_
#define PJRT_CORE_RUNTIME_BUFFER_LIVE_BUFFERS_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "pjrt_core/runtime/buffer/buffer.h"

namespace onexpu {

// A buffer is listed when its address is first told to anybody: nobody can come back with one that
// was not.
void ListLiveBuffer(const void* address, const std::shared_ptr<Buffer>& buffer);
void UnlistLiveBuffer(const void* address, const Buffer* buffer);
// The one (of that size) that was listed last and lives, or null.
std::shared_ptr<Buffer> FindLiveBuffer(const void* address, std::optional<int64_t> num_bytes);

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_BUFFER_LIVE_BUFFERS_H_
