#include "custom_kernels/builtin/sort/counting_sort.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/sort/radix_sort.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> CountingSortKernels();  // generated

namespace {

// As counting_sort.cpp declares it.
struct KindSizes {
  int64_t elements, kinds, chunk, chunks;
};

constexpr char kName[] = "counting sort";

SpirvModule& Module(absl::string_view label) {
  return *MakeModule(CountingSortKernels(), label).release();
}

SpirvModule& CountKernel(int64_t ways) {
  static SpirvModule& one = Module("kind_count_1");
  static SpirvModule& four = Module("kind_count_4");
  return ways == 1 ? one : four;
}

SpirvModule& PlacesKernel(int64_t ways) {
  static SpirvModule& one = Module("kind_places_1");
  static SpirvModule& four = Module("kind_places_4");
  return ways == 1 ? one : four;
}

absl::StatusOr<int64_t*> AllocateBegins(::xla::ffi::ScratchAllocator& scratch, int64_t elements,
                                        int64_t kinds) {
  if (elements > std::numeric_limits<uint32_t>::max()) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: ", kName, ": ", elements,
                     " elements, of 2^32 - 1 at most, as their places are of 32 bits"));
  }
  absl::StatusOr<void*> memory = AllocateScratch(scratch, (kinds + 2) * sizeof(int64_t), kName);
  if (!memory.ok()) return memory.status();
  return static_cast<int64_t*>(*memory);
}

// Of all kinds in all chunks.
absl::StatusOr<CountedKinds> Count(sycl::queue& queue, ::xla::ffi::ScratchAllocator& scratch,
                                   const int32_t* kind_of, int64_t elements, int64_t kinds,
                                   const KindChunks& chunks, uint32_t* counts) {
  static SpirvModule& sum = Module("kind_sum");
  absl::StatusOr<int64_t*> begins = AllocateBegins(scratch, elements, kinds);
  if (!begins.ok()) return begins.status();
  if (counts == nullptr) {
    absl::StatusOr<void*> memory =
        AllocateScratch(scratch, chunks.count * (kinds + 1) * sizeof(uint32_t), kName);
    if (!memory.ok()) return memory.status();
    counts = static_cast<uint32_t*>(*memory);
  }
  const KindSizes sizes = {elements, kinds, chunks.size, chunks.count};
  absl::Status status =
      LaunchKernel(queue, CountKernel(chunks.ways), chunks.range, kind_of, counts, sizes);
  if (!status.ok()) return status;
  status =
      LaunchKernel(queue, sum, {.global = static_cast<size_t>(kinds) + 1}, counts, *begins, sizes);
  if (!status.ok()) return status;
  status = ScanCounts(queue, *begins, kinds + 1, *begins + kinds + 1);
  if (!status.ok()) return status;
  return CountedKinds{counts, *begins, chunks};
}

absl::StatusOr<SortedKinds> SortByCounts(sycl::queue& queue, ::xla::ffi::ScratchAllocator& scratch,
                                         const int32_t* kind_of, int64_t elements, int64_t kinds,
                                         const KindChunks& chunks, uint32_t* places) {
  absl::StatusOr<CountedKinds> counted =
      Count(queue, scratch, kind_of, elements, kinds, chunks, nullptr);
  if (!counted.ok()) return counted.status();
  if (places == nullptr) {
    absl::StatusOr<void*> memory = AllocateScratch(scratch, elements * sizeof(uint32_t), kName);
    if (!memory.ok()) return memory.status();
    places = static_cast<uint32_t*>(*memory);
  }
  const KindSizes sizes = {elements, kinds, chunks.size, chunks.count};
  absl::Status status = LaunchKernel(queue, PlacesKernel(chunks.ways), chunks.range, kind_of,
                                     counted->begins, counted->counts, places, sizes);
  if (!status.ok()) return status;
  return SortedKinds{places, counted->begins};
}

absl::StatusOr<SortedKinds> SortByDigits(sycl::queue& queue, ::xla::ffi::ScratchAllocator& scratch,
                                         const int32_t* kind_of, int64_t elements, int64_t kinds,
                                         uint32_t* places) {
  KindSizes sizes = {elements, kinds};
  static SpirvModule& number = Module("kind_numbers");
  static SpirvModule& find = Module("kind_begins");
  absl::StatusOr<int64_t*> begins = AllocateBegins(scratch, elements, kinds);
  if (!begins.ok()) return begins.status();
  absl::StatusOr<void*> numbers = AllocateScratch(scratch, elements * sizeof(uint64_t), kName);
  if (!numbers.ok()) return numbers.status();
  absl::Status status = LaunchKernel(queue, number, {.global = static_cast<size_t>(sizes.elements)},
                                     kind_of, *numbers, sizes);
  if (!status.ok()) return status;
  absl::StatusOr<SortedNumbers> sorted =
      SortWithPlaces(queue, scratch, static_cast<uint64_t*>(*numbers), sizes.elements,
                     BitsFor(static_cast<uint64_t>(sizes.kinds) + 1));
  if (!sorted.ok()) return sorted.status();
  const Chunks chunks = ChooseChunks(queue, sizes.elements + 1, /*size_on_gpu=*/1);
  sizes.chunk = chunks.size;
  status = LaunchKernel(queue, find, chunks.range, sorted->numbers, *begins, sizes);
  if (!status.ok()) return status;
  if (places == nullptr) return SortedKinds{sorted->places, *begins};
  queue.memcpy(places, sorted->places, sizes.elements * sizeof(uint32_t));
  return SortedKinds{places, *begins};
}

}  // namespace

std::optional<KindChunks> KindChunksOf(const sycl::queue& queue, int64_t elements, int64_t kinds) {
  if (!HasCpuSchedules(queue)) return std::nullopt;
  // With many kinds, consecutive elements rarely share a counter, and the counters fill the cache.
  constexpr int64_t kMaxInterleavedKinds = 32;
  const int64_t ways = kinds <= kMaxInterleavedKinds ? 4 : 1;
  const Chunks items = ChooseChunks(queue, elements, /*size_on_gpu=*/1);
  const KindChunks chunks = {(items.size + ways - 1) / ways, items.count * ways, ways, items.range};
  // At most as many counters as elements.
  if (chunks.count * (kinds + 1) > elements) return std::nullopt;
  return chunks;
}

absl::StatusOr<SortedKinds> SortByKind(sycl::queue& queue, ::xla::ffi::ScratchAllocator& scratch,
                                       const int32_t* kind_of, int64_t elements, int64_t kinds,
                                       uint32_t* places) {
  const std::optional<KindChunks> chunks = KindChunksOf(queue, elements, kinds);
  if (!chunks.has_value()) return SortByDigits(queue, scratch, kind_of, elements, kinds, places);
  return SortByCounts(queue, scratch, kind_of, elements, kinds, *chunks, places);
}

absl::StatusOr<std::optional<CountedKinds>> CountByKind(sycl::queue& queue,
                                                        ::xla::ffi::ScratchAllocator& scratch,
                                                        const int32_t* kind_of, int64_t elements,
                                                        int64_t kinds, uint32_t* counts) {
  const std::optional<KindChunks> chunks = KindChunksOf(queue, elements, kinds);
  if (!chunks.has_value()) return std::nullopt;
  absl::StatusOr<CountedKinds> counted =
      Count(queue, scratch, kind_of, elements, kinds, *chunks, counts);
  if (!counted.ok()) return counted.status();
  return *counted;
}

}  // namespace onexpu
