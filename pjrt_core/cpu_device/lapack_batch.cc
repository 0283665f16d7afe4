#include "pjrt_core/cpu_device/lapack_batch.h"

#include <algorithm>

#include "mkl_service.h"
#include "oneapi/tbb/info.h"
#include "oneapi/tbb/parallel_for.h"
#include "oneapi/tbb/task_arena.h"

namespace onexpu {
namespace {

// A call takes at least as long as this many multiplications.
constexpr int64_t kProductsOfCall = 256;
// Another thread is worth waking for parts of this size (30 us and more).
constexpr int64_t kMinProductsOfPart = 1 << 17;
// Parts end at different times, and threads that are done take over others.
constexpr int64_t kMaxPartsPerThread = 4;
// Of scratch, beyond which there is one part for each thread, or one for all.
constexpr int64_t kMaxSharedScratchBytes = 64 << 20;
constexpr int64_t kMaxScratchBytes = 256 << 20;

// oneMKL's routines run on the calling thread alone during its life.
class SingleThread {
 public:
  SingleThread() : before_(mkl_set_num_threads_local(1)) {}
  ~SingleThread() { mkl_set_num_threads_local(before_); }
  SingleThread(const SingleThread&) = delete;
  SingleThread& operator=(const SingleThread&) = delete;

 private:
  const int before_;
};

}  // namespace

void LapackBatch::Plan(const Cost& cost) {
  const int64_t threads = tbb::info::default_concurrency();
  const int64_t scratch = std::max<int64_t>(1, cost.scratch_bytes);
  part_scratch_bytes_ = (cost.scratch_bytes + 63) / 64 * 64;  // threads share no cache line
  uses_library_threads_ =
      cost.is_large && (count_ < threads || threads > kMaxScratchBytes / scratch);
  if (uses_library_threads_) return;
  const int64_t affordable = std::max(threads, kMaxSharedScratchBytes / scratch);
  const int64_t most = std::min({count_, kMaxPartsPerThread * threads, affordable});
  const int64_t worthwhile = count_ * (cost.products + kProductsOfCall) / kMinProductsOfPart;
  parts_ = std::clamp<int64_t>(worthwhile, 1, most);
}

void LapackBatch::RunPart(int64_t part, const Memory& memory, char* scratch) const {
  const int64_t end = (part + 1) * count_ / parts_;
  for (int64_t i = part * count_ / parts_; i < end; ++i) {
    RunMatrix(i, memory, scratch + part * part_scratch_bytes_);
  }
}

void LapackBatch::Run(const void* object, void* operand, void* result, void* second, void* third,
                      void* /*unused*/, void* scratch) {
  const LapackBatch& self = *static_cast<const LapackBatch*>(object);
  const Memory memory{operand, result, second, third};
  const auto run_part = [&](int64_t part) {
    const SingleThread single_thread;
    self.RunPart(part, memory, static_cast<char*>(scratch));
  };
  if (self.parts_ == 1 && !self.uses_library_threads_) return run_part(0);
  // A thread that waits here for others takes over no unrelated work of the device, which could
  // enter the library once more on the same thread.
  tbb::this_task_arena::isolate([&] {
    if (self.uses_library_threads_) {
      self.RunPart(0, memory, static_cast<char*>(scratch));
    } else {
      tbb::parallel_for(int64_t{0}, self.parts_, run_part, tbb::simple_partitioner());
    }
  });
}

}  // namespace onexpu
