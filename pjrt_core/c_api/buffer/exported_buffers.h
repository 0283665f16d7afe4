// Buffers that are on their way from one framework to another.
//
// A framework that can take a buffer only as "host memory at this address" (JAX's device_put of an
// array-like) is handed the device address of an exported buffer; PJRT_Client_BufferFromHostBuffer
// recognises it here and makes an alias instead of a copy. One table per process, since the two
// ends are handles of different clients. Thread-safe.
#ifndef PJRT_CORE_C_API_BUFFER_EXPORTED_BUFFERS_H_
#define PJRT_CORE_C_API_BUFFER_EXPORTED_BUFFERS_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "pjrt_core/runtime/buffer/buffer.h"

namespace onexpu::c_api {

class ExportedBuffers {
 public:
  static ExportedBuffers& Get();

  // Holds the buffer, and its memory where it is, until it is taken or cancelled. Gives its device
  // address.
  absl::StatusOr<void*> Export(std::shared_ptr<Buffer> buffer);
  // Drops one hold. NOT_FOUND when there is none at this address.
  absl::Status Cancel(void* address);

  // The exported buffer at `address` seen as `shape`, and the hold is gone; null when nothing is
  // exported there. INVALID_ARGUMENT when it is exported, but is of another size or memory than
  // wanted.
  absl::StatusOr<std::shared_ptr<Buffer>> Take(const void* address, const ArrayShape& shape,
                                               const MemorySpace* memory);

 private:
  absl::StatusOr<std::shared_ptr<Buffer>> RemoveHold(const void* address);

  // Nearly every host buffer meets an empty table: one load, no lock.
  std::atomic<size_t> size_{0};
  absl::Mutex mutex_;
  absl::flat_hash_map<const void*, std::vector<std::shared_ptr<Buffer>>> holds_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_BUFFER_EXPORTED_BUFFERS_H_
