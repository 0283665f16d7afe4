#include "custom_kernels/builtin/support/chunks.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> ChunkKernels();  // generated

Chunks ChunksOf(const sycl::queue& queue, int64_t elements, int64_t size) {
  const int64_t count = (elements + size - 1) / size;
  // A chunk is a serial loop: work-groups of one keep a CPU's compiler from interleaving chunks.
  return {size,
          count,
          {.global = static_cast<size_t>(count),
           .local = HasCpuSchedules(queue) ? size_t{1} : size_t{0}}};
}

Chunks ChooseChunks(const sycl::queue& queue, int64_t elements, int64_t size_on_gpu) {
  if (!HasCpuSchedules(queue)) return ChunksOf(queue, elements, size_on_gpu);
  // Several for each core, to balance the load; not too short, because each has a launch cost.
  constexpr int64_t kChunksPerCore = 8, kMinElementsPerChunk = 1024;
  const int64_t most =
      kChunksPerCore * queue.get_device().get_info<sycl::info::device::max_compute_units>();
  return ChunksOf(queue, elements, std::max(kMinElementsPerChunk, (elements + most - 1) / most));
}

absl::Status ScanCounts(sycl::queue& queue, void* counts, int64_t n, void* total) {
  static SpirvModule* const scan = MakeModule(ChunkKernels(), "scan_counts").release();
  const size_t local = ReductionGroupSize(queue);
  return LaunchKernel(queue, *scan, {.global = local, .local = local}, counts, total, n);
}

absl::StatusOr<void*> AllocateScratch(::xla::ffi::ScratchAllocator& scratch, size_t bytes,
                                      absl::string_view handler) {
  if (bytes == 0) return nullptr;
  const std::optional<void*> memory = scratch.Allocate(bytes);
  if (!memory.has_value()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("onexpu: ", handler, ": no device memory for ", bytes, " bytes"));
  }
  return *memory;
}

}  // namespace onexpu
