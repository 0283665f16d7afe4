// Copies between GPUs that do not copy directly from each other's memory: through staging memory,
// chunk by chunk, so that both devices copy at the same time.
#ifndef PJRT_CORE_RUNTIME_BUFFER_STAGED_COPY_H_
#define PJRT_CORE_RUNTIME_BUFFER_STAGED_COPY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "pjrt_core/runtime/buffer/device_buffer.h"

namespace onexpu {

// A copy of `buffer` in `memory`, which is another device's. Returns when the copies are queued on
// the buffer's device and given to the launcher of the other.
absl::StatusOr<std::shared_ptr<DeviceBuffer>> CopyStaged(const DeviceBuffer& buffer,
                                                         MemorySpace* memory);

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_BUFFER_STAGED_COPY_H_
