// The implementation of Buffer: an address in device memory, and the work that defines it.
//
// Shared; thread-safe. Private to the runtime: other code uses buffer.h.
#ifndef PJRT_CORE_RUNTIME_BUFFER_DEVICE_BUFFER_H_
#define PJRT_CORE_RUNTIME_BUFFER_DEVICE_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "pjrt_core/device/event.h"
#include "pjrt_core/runtime/buffer/buffer.h"
#include "pjrt_core/runtime/memory/device_memory.h"
#include "pjrt_core/runtime/queue/ticket.h"
#include "pjrt_core/runtime/sycl_device/sycl_device.h"

namespace onexpu {

// Which work writes a buffer's bytes. Views share it.
struct Definition {
  TicketRef ticket;              // none: defined before the buffer was visible
  std::shared_ptr<Event> ready;  // never null
  uint64_t version = 0;          // thunk.h's ContentVersion; 0: external code may write

  // The error that the bytes are, if it is known by now.
  absl::Status poison() const { return ready->IsKnown() ? ready->status() : absl::OkStatus(); }
};

// Never the same twice.
uint64_t NewContentVersion();

class DeviceBuffer final : public Buffer {
 public:
  struct Contents {
    std::shared_ptr<DeviceMemory> memory;  // null when poisoned from birth
    size_t offset = 0;
    Definition definition;

    char* address() const { return memory->address() + offset; }
  };

  DeviceBuffer(ArrayShape shape, MemorySpace* memory, Contents contents);
  ~DeviceBuffer() override;

  // The memory, for work that is submitted next (hold the device's submission lock).
  // INVALID_ARGUMENT once deleted.
  absl::StatusOr<Contents> Acquire() const;

  // Waits for the work that defines it if that takes some microseconds at most.
  void WaitIfCheap() const;

  SyclDevice& sycl_device() const { return *static_cast<SyclDevice*>(memory_space_->device()); }

  // Buffer:
  const ArrayShape& shape() const override { return shape_; }
  MemorySpace* memory() const override { return memory_space_; }
  std::shared_ptr<Event> ready() override;
  absl::StatusOr<void*> address() override;
  std::shared_ptr<Event> ToHost(void* destination, absl::Span<const int64_t> byte_strides,
                                Origin origin) override;
  std::shared_ptr<Event> RawToHost(void* destination, int64_t offset, int64_t size,
                                   Origin origin) override;
  absl::StatusOr<std::shared_ptr<Buffer>> CopyTo(MemorySpace* memory, Origin origin) override;
  absl::StatusOr<std::shared_ptr<Buffer>> PrefixView(absl::Span<const int64_t> dimensions) override;
  absl::StatusOr<std::shared_ptr<Buffer>> Alias(const ArrayShape& shape) override;
  void Delete() override;
  bool IsDeleted() const override;
  absl::Status AcquireExternalReference() override;
  absl::Status ReleaseExternalReference() override;

 private:
  absl::Status DeletedError() const;
  // A copy in `memory`, made by the compute queue of that memory's device.
  absl::StatusOr<std::shared_ptr<DeviceBuffer>> CopyOn(SyclDevice& device,
                                                       MemorySpace* memory) const;
  absl::StatusOr<std::shared_ptr<DeviceBuffer>> TryCopyOn(SyclDevice& device,
                                                          MemorySpace* memory) const;

  const ArrayShape shape_;
  MemorySpace* const memory_space_;
  mutable absl::Mutex mutex_;
  Contents contents_ ABSL_GUARDED_BY(mutex_);
  bool deleted_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_listed_ ABSL_GUARDED_BY(mutex_) = false;  // in the table of live addresses
  int external_references_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<DeviceMemory> external_hold_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_BUFFER_DEVICE_BUFFER_H_
