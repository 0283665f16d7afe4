#include "custom_kernels/builtin/sort/radix_sort.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> RadixSortKernels();  // generated

namespace {

// As radix_sort.cpp declares them.
struct SortPass {
  int64_t elements, chunk, chunks;
  int32_t shift, bits;
};
struct SortNote {
  uint32_t low, high, descends;
};

// For shorter arrays, the inspection of the keys costs more than it saves.
constexpr int64_t kMinInspectedElements = 16384;

// A CPU's work-item has a cache for many counters and few siblings, whose counts are soon summed
// up; a GPU's has registers for a few, and thousands of siblings.
struct Schedule {
  int bits;
  int64_t least_chunk, chunks_per_unit;
  std::unique_ptr<SpirvModule> count, move;
};

Schedule MakeSchedule(int bits, int64_t least_chunk, int64_t chunks_per_unit) {
  return {bits, least_chunk, chunks_per_unit,
          MakeModule(RadixSortKernels(), absl::StrCat("sort_count_", bits)),
          MakeModule(RadixSortKernels(), absl::StrCat("sort_move_", bits))};
}

const Schedule& ScheduleFor(const sycl::queue& queue, int bits) {
  static const auto* const cpu =
      new Schedule(MakeSchedule(8, /*least_chunk=*/8192, /*chunks_per_unit=*/4));
  static const auto* const cpu_of_few_bits =
      new Schedule(MakeSchedule(4, /*least_chunk=*/8192, /*chunks_per_unit=*/4));
  static const auto* const gpu =
      new Schedule(MakeSchedule(4, /*least_chunk=*/32, /*chunks_per_unit=*/64));
  if (!HasCpuSchedules(queue)) return *gpu;
  return bits <= cpu_of_few_bits->bits ? *cpu_of_few_bits : *cpu;
}

// Between passes.
struct SortArrays {
  uint64_t* numbers;
  uint32_t* places;
};

absl::StatusOr<SortArrays> AllocateArrays(::xla::ffi::ScratchAllocator& scratch, int64_t elements,
                                          uint64_t* numbers) {
  SortArrays arrays = {numbers, nullptr};
  absl::StatusOr<void*> places =
      AllocateScratch(scratch, elements * sizeof(uint32_t), "radix sort");
  if (!places.ok()) return places.status();
  arrays.places = static_cast<uint32_t*>(*places);
  if (numbers != nullptr) return arrays;
  absl::StatusOr<void*> memory =
      AllocateScratch(scratch, elements * sizeof(uint64_t), "radix sort");
  if (!memory.ok()) return memory.status();
  arrays.numbers = static_cast<uint64_t*>(*memory);
  return arrays;
}

}  // namespace

int BitsFor(uint64_t values) { return values < 2 ? 1 : std::bit_width(values - 1); }

absl::StatusOr<SortedNumbers> SortWithPlaces(sycl::queue& queue,
                                             ::xla::ffi::ScratchAllocator& scratch,
                                             uint64_t* numbers, int64_t elements, int bits,
                                             const uint32_t* has_to_sort) {
  if (elements > std::numeric_limits<uint32_t>::max()) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: radix sort: ", elements, " elements, of 2^32 - 1 at most"));
  }
  if (elements == 0) return SortedNumbers{numbers, nullptr};
  const Schedule& schedule = ScheduleFor(queue, bits);
  const int64_t most_chunks = schedule.chunks_per_unit *
                              queue.get_device().get_info<sycl::info::device::max_compute_units>();
  const Chunks chunks = ChunksOf(
      queue, elements, std::max(schedule.least_chunk, (elements + most_chunks - 1) / most_chunks));
  absl::StatusOr<void*> counts =
      AllocateScratch(scratch, (chunks.count << schedule.bits) * sizeof(int64_t), "radix sort");
  if (!counts.ok()) return counts.status();
  absl::StatusOr<SortArrays> a = AllocateArrays(scratch, elements, numbers);
  if (!a.ok()) return a.status();
  absl::StatusOr<SortArrays> b = AllocateArrays(scratch, elements, nullptr);
  if (!b.ok()) return b.status();

  SortPass pass = {elements, chunks.size, chunks.count, 0, schedule.bits};
  SortNote* note = nullptr;
  if (elements >= kMinInspectedElements || has_to_sort != nullptr) {
    static SpirvModule* const look = MakeModule(RadixSortKernels(), "sort_look").release();
    absl::StatusOr<void*> memory = AllocateScratch(scratch, sizeof(SortNote), "radix sort");
    if (!memory.ok()) return memory.status();
    note = static_cast<SortNote*>(*memory);
    queue.memset(note, 0, sizeof(SortNote));
    absl::Status status =
        LaunchKernel(queue, *look, chunks.range, a->numbers, note, has_to_sort, pass);
    if (!status.ok()) return status;
  }
  int passes = 0;
  for (; pass.shift < bits; pass.shift += schedule.bits, ++passes) {
    absl::Status status = LaunchKernel(queue, *schedule.count, chunks.range, a->numbers, b->numbers,
                                       note, *counts, pass);
    if (!status.ok()) return status;
    status = ScanCounts(queue, *counts, chunks.count << schedule.bits, nullptr);
    if (!status.ok()) return status;
    status = LaunchKernel(queue, *schedule.move, chunks.range, a->numbers, a->places, b->numbers,
                          b->places, note, *counts, pass);
    if (!status.ok()) return status;
  }
  const SortArrays& result = passes % 2 == 0 ? *a : *b;
  const SortArrays& other = passes % 2 == 0 ? *b : *a;
  if (note != nullptr) {
    static SpirvModule* const finish = MakeModule(RadixSortKernels(), "sort_finish").release();
    absl::Status status =
        LaunchKernel(queue, *finish, chunks.range, result.numbers, result.places, other.numbers,
                     other.places, note, has_to_sort, passes, pass);
    if (!status.ok()) return status;
  }
  return SortedNumbers{result.numbers, result.places};
}

}  // namespace onexpu
