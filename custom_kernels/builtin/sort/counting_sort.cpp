// Elements of one kind beside each other. Kernel source: built by sycl_kernels, see BUILD.

struct KindSizes {
  std::int64_t elements, kinds, chunk, chunks;
};

namespace {

// What is of no kind has the number after the last one.
inline std::int64_t kind(const std::int32_t* kind_of, std::int64_t i, const KindSizes& sizes) {
  const std::int64_t number = kind_of[i];
  return number >= 0 && number < sizes.kinds ? number : sizes.kinds;
}

// Calls `visit` with the elements of `ways` chunks from `chunk` on, in the order of each.
template <int ways, typename Visit>
inline void visit_chunks(std::int64_t chunk, const KindSizes& sizes, const Visit& visit) {
  for (std::int64_t step = 0; step < sizes.chunk; ++step) {
    for (int way = 0; way < ways; ++way) {
      const std::int64_t i = (chunk + way) * sizes.chunk + step;
      if (i < sizes.elements) visit(way, i);
    }
  }
}

}  // namespace

// A work-item per `ways` chunks, which it interleaves: consecutive elements of one chunk may update
// the same counter, and each update would wait for the one before. Chunks have separate counters.
// Counts are [chunks, kinds + 1].
template <int ways>
ONEXPU_KERNEL void kind_count(const std::int32_t* kind_of, std::uint32_t* counts, KindSizes sizes) {
  const std::int64_t chunk = std::int64_t(onexpu::global_id()) * ways, row = sizes.kinds + 1;
  std::uint32_t* const own = counts + chunk * row;
  for (std::int64_t k = 0; k < ways * row; ++k) own[k] = 0;
  visit_chunks<ways>(chunk, sizes,
                     [&](int way, std::int64_t i) { ++own[way * row + kind(kind_of, i, sizes)]; });
}

// A work-item per kind: counts become how many there are in the chunks before.
ONEXPU_KERNEL void kind_sum(std::uint32_t* counts, std::int64_t* totals, KindSizes sizes) {
  const std::int64_t k = std::int64_t(onexpu::global_id());
  std::uint32_t sum = 0;
  for (std::int64_t chunk = 0; chunk < sizes.chunks; ++chunk) {
    std::uint32_t& own = counts[chunk * (sizes.kinds + 1) + k];
    const std::uint32_t count = own;
    own = sum;
    sum += count;
  }
  totals[k] = sum;
}

// As kind_count.
template <int ways>
ONEXPU_KERNEL void kind_places(const std::int32_t* kind_of, const std::int64_t* begins,
                               std::uint32_t* counts, std::uint32_t* places, KindSizes sizes) {
  const std::int64_t chunk = std::int64_t(onexpu::global_id()) * ways, row = sizes.kinds + 1;
  std::uint32_t* const own = counts + chunk * row;
  for (int way = 0; way < ways; ++way) {
    for (std::int64_t k = 0; k < row; ++k) own[way * row + k] += std::uint32_t(begins[k]);
  }
  visit_chunks<ways>(chunk, sizes, [&](int way, std::int64_t i) {
    places[own[way * row + kind(kind_of, i, sizes)]++] = std::uint32_t(i);
  });
}

// For a radix sort.
ONEXPU_KERNEL void kind_numbers(const std::int32_t* kind_of, std::uint64_t* numbers,
                                KindSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  numbers[i] = std::uint64_t(kind(kind_of, i, sizes));
}

// A work-item per chunk of the sorted numbers and one for their end.
ONEXPU_KERNEL void kind_begins(const std::uint64_t* numbers, std::int64_t* begins,
                               KindSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements + 1);
  std::int64_t before = first == 0 ? -1 : std::int64_t(numbers[first - 1]);
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t here = i == sizes.elements ? sizes.kinds + 1 : std::int64_t(numbers[i]);
    for (std::int64_t k = before + 1; k <= here; ++k) begins[k] = i;
    before = here;
  }
}
