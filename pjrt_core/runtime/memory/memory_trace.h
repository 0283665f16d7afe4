// Records a pool's allocations while a profiler is active. Guarded by the pool's lock.
#ifndef PJRT_CORE_RUNTIME_MEMORY_MEMORY_TRACE_H_
#define PJRT_CORE_RUNTIME_MEMORY_MEMORY_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace onexpu {

// An allocation or its release, and the pool after it.
struct MemoryEvent {
  int64_t time = 0;  // nanoseconds since the epoch
  bool is_allocation = false;
  const void* address = nullptr;
  int64_t bytes = 0;
  int64_t bytes_in_use = 0;
  int64_t peak_bytes_in_use = 0;
  int64_t pool_bytes = 0;  // allocated from the driver
  int64_t bytes_limit = 0;
};

class MemoryTrace {
 public:
  void Begin() {
    events_.clear();
    is_on_ = true;
  }
  void End() { is_on_ = false; }
  bool is_on() const { return is_on_; }

  // The first million: a viewer shows no more.
  void Add(const MemoryEvent& event) {
    if (events_.size() < kMaxEvents) events_.push_back(event);
  }
  // Those between two times.
  std::vector<MemoryEvent> Collect(int64_t begin, int64_t end) const {
    std::vector<MemoryEvent> found;
    for (const MemoryEvent& event : events_) {
      if (event.time >= begin && event.time < end) found.push_back(event);
    }
    return found;
  }
  void Clear() { events_ = {}; }

 private:
  static constexpr size_t kMaxEvents = 1'000'000;

  bool is_on_ = false;
  std::vector<MemoryEvent> events_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_MEMORY_MEMORY_TRACE_H_
