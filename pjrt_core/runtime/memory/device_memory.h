// A piece of memory that buffers share: a block of a pool, or externally owned memory.
//
// Owned by shared_ptr: by the buffers over it, and by work that has no ticket yet. Work that has a
// ticket does not own the memory, submitted or not; the ticket marks the use (uses). When the last
// owner is destroyed, a block returns to its pool immediately, with its tickets. Externally owned
// memory is released when the tickets are complete. Thread-safe.
#ifndef PJRT_CORE_RUNTIME_MEMORY_DEVICE_MEMORY_H_
#define PJRT_CORE_RUNTIME_MEMORY_DEVICE_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "pjrt_core/runtime/memory/memory_pool.h"
#include "pjrt_core/runtime/queue/ticket.h"

namespace onexpu {

class DeviceMemory {
 public:
  DeviceMemory(MemoryPool* pool, MemoryPool::Block* block)
      : address_(block->address), size_(block->size), pool_(pool), block_(block) {}
  DeviceMemory(void* address, size_t size, absl::AnyInvocable<void()> on_delete)
      : address_(static_cast<char*>(address)), size_(size), on_delete_(std::move(on_delete)) {}
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  char* address() const { return address_; }
  size_t size() const { return size_; }
  bool is_external() const { return pool_ == nullptr; }

  void AddUse(TicketRef use) {
    absl::MutexLock lock(&mutex_);
    uses_.Add(use);
  }
  TicketSet uses() const {
    absl::MutexLock lock(&mutex_);
    return uses_;
  }

  // Buffers over it and references from outside: more than one forbids that work writes into it for
  // one of them.
  void AddOwner() { owners_.fetch_add(1, std::memory_order_acq_rel); }
  void RemoveOwner() { owners_.fetch_sub(1, std::memory_order_acq_rel); }
  bool HasSingleOwner() const { return owners_.load(std::memory_order_acquire) == 1; }

  // Marks memory while many arguments are searched for duplicates. Guarded by the device's
  // submission lock.
  uint64_t mark() const { return mark_; }
  void set_mark(uint64_t mark) { mark_ = mark; }

 private:
  char* const address_;
  const size_t size_;
  MemoryPool* const pool_ = nullptr;
  MemoryPool::Block* const block_ = nullptr;
  absl::AnyInvocable<void()> on_delete_;
  std::atomic<int> owners_{0};
  uint64_t mark_ = 0;
  mutable absl::Mutex mutex_;
  TicketSet uses_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_MEMORY_DEVICE_MEMORY_H_
