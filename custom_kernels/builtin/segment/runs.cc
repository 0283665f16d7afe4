#include "custom_kernels/builtin/segment/runs.h"

#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/launch_kernel.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> RunKernels();  // generated

namespace {

// As runs.cpp declares it.
struct RunSizes {
  int64_t elements, chunk;
  uint64_t magnitude, infinity;
};

constexpr int64_t kChunk = 8192;

}  // namespace

absl::StatusOr<Runs> FindRuns(sycl::queue& queue, ::xla::ffi::ScratchAllocator& scratch,
                              const uint64_t* numbers, int64_t elements, const Equality& equality,
                              void* total) {
  static SpirvModule* const count = MakeModule(RunKernels(), "runs_count").release();
  static SpirvModule* const mark = MakeModule(RunKernels(), "runs_mark").release();
  const RunSizes sizes = {elements, kChunk, equality.magnitude, equality.infinity};
  const Chunks chunks = ChunksOf(queue, elements, kChunk);
  absl::StatusOr<void*> counts = AllocateScratch(scratch, chunks.count * sizeof(int64_t), "runs");
  if (!counts.ok()) return counts.status();
  absl::StatusOr<void*> runs = AllocateScratch(scratch, elements * sizeof(uint32_t), "runs");
  if (!runs.ok()) return runs.status();
  absl::StatusOr<void*> begins =
      AllocateScratch(scratch, (elements + 1) * sizeof(uint32_t), "runs");
  if (!begins.ok()) return begins.status();
  absl::Status status = LaunchKernel(queue, *count, chunks.range, numbers, *counts, sizes);
  if (!status.ok()) return status;
  status = ScanCounts(queue, *counts, chunks.count, total);
  if (!status.ok()) return status;
  status = LaunchKernel(queue, *mark, chunks.range, numbers, *counts, *runs, *begins, sizes);
  if (!status.ok()) return status;
  return Runs{static_cast<uint32_t*>(*runs), static_cast<uint32_t*>(*begins)};
}

}  // namespace onexpu
