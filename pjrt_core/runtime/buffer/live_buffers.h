// Live buffers by start address, for hand-over between frameworks. Process-wide; thread-safe.
#ifndef PJRT_CORE_RUNTIME_BUFFER_LIVE_BUFFERS_H_
#define PJRT_CORE_RUNTIME_BUFFER_LIVE_BUFFERS_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "pjrt_core/runtime/buffer/buffer.h"

namespace onexpu {

// Lists a buffer when its address is first exported, so every address that a caller can return is
// listed.
void ListLiveBuffer(const void* address, const std::shared_ptr<Buffer>& buffer);
void UnlistLiveBuffer(const void* address, const Buffer* buffer);
// The live buffer at `address` that was listed last, or null. Of `num_bytes`, if given: a view of
// the first bytes of another starts there, too.
std::shared_ptr<Buffer> FindLiveBuffer(const void* address,
                                       std::optional<int64_t> num_bytes = std::nullopt);
// NOT_FOUND instead of null.
absl::StatusOr<std::shared_ptr<Buffer>> RequireLiveBuffer(
    const void* address, std::optional<int64_t> num_bytes = std::nullopt);

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_BUFFER_LIVE_BUFFERS_H_
