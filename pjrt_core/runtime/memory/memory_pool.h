// A caching pool over memory that is slow to allocate: USM of a device, pinned host memory.
//
// Owned by its device; thread-safe. Regions come from the upstream allocator and are split into
// blocks; free neighbours coalesce. A freed block carries the tickets of the work that may still
// access it. Work on the same timeline reuses it immediately (in-order queues make this safe),
// other work when the tickets are complete. Two-level size classes with bitmaps make both
// directions constant-time, last in first out (its lines may still be in cache). Small, medium and
// large blocks come from separate regions while the limit allows it: a small block that stays
// allocated would keep a large region from coalescing.
#ifndef PJRT_CORE_RUNTIME_MEMORY_MEMORY_POOL_H_
#define PJRT_CORE_RUNTIME_MEMORY_MEMORY_POOL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "pjrt_core/device/device.h"
#include "pjrt_core/runtime/memory/memory_trace.h"
#include "pjrt_core/runtime/queue/ticket.h"

namespace onexpu {

// The order in which the memory's next user runs.
struct MemoryUser {
  const Timeline* timeline = nullptr;  // null: at once, from the host or any queue
  // The user's own. Later work's memory is not for it; and its own temporaries, which are the
  // pool's again before its commands are submitted, are not for more of its own work.
  Ticket ticket = ~Ticket{0};
};

class MemoryPool {
 public:
  struct Upstream {
    // OutOfMemory quotes its last error.
    absl::AnyInvocable<absl::StatusOr<void*>(size_t bytes)> allocate;
    absl::AnyInvocable<void(void*, size_t bytes)> free;
  };

  struct Limits {
    size_t total;  // maximum bytes allocated from upstream
    // The device's largest single allocation. Kernels need another addressing mode for larger ones
    // (level_zero_memory.h), so the pool never serves smaller requests from them.
    size_t single = ~size_t{0};
    // For OutOfMemory: where `total` comes from ("92 % of the device's memory"), and what else the
    // user can do ("raise ONEXPU_MEMORY_LIMIT", or empty).
    std::string source;
    std::string remedy;
  };

  struct Region;
  struct Block {
    char* address = nullptr;
    size_t size = 0;
    size_t used = 0;  // of that, what was asked for, whatever block was found
    Region* region = nullptr;
    TicketSet uses;  // while free
    bool is_free = false;
    Block* previous = nullptr;  // by address, in the region
    Block* next = nullptr;
    Block* free_previous = nullptr;  // in the size class
    Block* free_next = nullptr;
  };

  static constexpr size_t kAlignment = 256;

  // The size of a region's blocks. A region above the limit of a single allocation is not split.
  enum Kind { kSmall = 0, kMedium = 1, kLarge = 2, kAboveLimit = 3 };

  MemoryPool(std::string name, Limits limits, Upstream upstream);
  ~MemoryPool();

  // RESOURCE_EXHAUSTED without a message when there is nothing for `user` now: the caller may wait
  // for work and retry, then ask OutOfMemory for the error.
  absl::StatusOr<Block*> Allocate(size_t bytes, MemoryUser user);
  void Free(Block* block, const TicketSet& uses);

  // Gives regions without live blocks back to upstream.
  void Trim();

  absl::Status OutOfMemory(size_t bytes) const;
  MemoryStatistics statistics() const;
  // Peaks, the largest allocation and the number of allocations start over.
  void ResetPeaks();

  // For profiles. Recorded events stay until they are cleared or recording begins again.
  void StartTrace();
  void StopTrace();
  std::vector<MemoryEvent> CollectTrace(int64_t begin, int64_t end) const;
  void ClearTrace();

 private:
  static constexpr int kSubclassBits = 3;
  static constexpr int kSubclasses = 1 << kSubclassBits;
  static constexpr int kClasses = 48 * kSubclasses;
  static constexpr int kKinds = 4;

  // The free blocks of one kind, by size class.
  struct FreeBlocks {
    std::array<Block*, kClasses> lists = {};
    std::array<uint64_t, (kClasses + 63) / 64> nonempty = {};
  };

  Kind KindOf(size_t size) const;
  static int ClassOf(size_t size);
  static bool IsUsable(const Block& block, MemoryUser user);

  Block* FindOrGrow(size_t size, MemoryUser user) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Block* FindFree(Kind kind, size_t size, MemoryUser user) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A region of that size; null when there is no memory for it.
  Block* Grow(Kind kind, size_t region_size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TrimLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Insert(Block* block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(Block* block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Split(Block* block, size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Block* MergeWithNext(Block* block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Block* NewBlock() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  size_t LargestFree() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Trace(const Block& block, bool is_allocation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string name_;
  const Limits limits_;
  Upstream upstream_;

  mutable absl::Mutex mutex_;
  std::vector<std::unique_ptr<Region>> regions_ ABSL_GUARDED_BY(mutex_);
  std::array<FreeBlocks, kKinds> free_ ABSL_GUARDED_BY(mutex_);
  std::deque<Block> block_storage_ ABSL_GUARDED_BY(mutex_);
  std::vector<Block*> spare_blocks_ ABSL_GUARDED_BY(mutex_);
  MemoryStatistics statistics_ ABSL_GUARDED_BY(mutex_);
  MemoryTrace trace_ ABSL_GUARDED_BY(mutex_);
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);  // of the last allocation from upstream
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_MEMORY_MEMORY_POOL_H_
