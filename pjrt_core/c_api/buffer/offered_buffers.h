// Buffers that wait for the framework they are offered to.
//
// A framework that takes buffers through an operation of its own (TensorFlow) is told the number of
// a slot, as an attribute of that operation. Numbers are small and used again, so that it compiles
// few kinds of the operation. One table per process, since the two ends are handles of different
// clients. Thread-safe.
#ifndef PJRT_CORE_C_API_BUFFER_OFFERED_BUFFERS_H_
#define PJRT_CORE_C_API_BUFFER_OFFERED_BUFFERS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "pjrt_core/runtime/buffer/buffer.h"

namespace onexpu::c_api {

class OfferedBuffers {
 public:
  static OfferedBuffers& Get();

  // Keeps the live buffer that starts at `address` until it is taken. Gives the lowest free slot.
  // NOT_FOUND when no live buffer starts there.
  absl::StatusOr<int64_t> Offer(const void* address);
  // The same for a buffer that is at hand.
  int64_t Offer(std::shared_ptr<Buffer> buffer);

  // Empties the slot. NOT_FOUND when nothing is offered there.
  absl::StatusOr<std::shared_ptr<Buffer>> Take(int64_t slot);

 private:
  absl::Mutex mutex_;
  std::vector<std::shared_ptr<Buffer>> slots_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_BUFFER_OFFERED_BUFFERS_H_
