// A pass of a radix sort: chunks of elements are counted by a digit, and moved behind what chunks
// before them and smaller digits have. Kernel source: built by sycl_kernels, see BUILD.

struct SortPass {
  std::int64_t elements, chunk, chunks;
  std::int32_t shift;
  std::int32_t has_places;  // else an element's place is its number
};

namespace {

template <int bits>
inline std::uint32_t digit(std::uint64_t number, const SortPass& pass) {
  return std::uint32_t(number >> pass.shift) & ((1u << bits) - 1);
}

}  // namespace

// A work-item per chunk. Counts are [digits, chunks].
template <int bits>
ONEXPU_KERNEL void sort_count(const std::uint64_t* numbers, std::int64_t* counts, SortPass pass) {
  const std::int64_t chunk = std::int64_t(onexpu::global_id());
  const std::int64_t first = chunk * pass.chunk;
  const std::int64_t last = sycl::min(first + pass.chunk, pass.elements);
  std::uint32_t seen[1 << bits] = {};
  for (std::int64_t i = first; i < last; ++i) ++seen[digit<bits>(numbers[i], pass)];
  for (int d = 0; d < 1 << bits; ++d) counts[d * pass.chunks + chunk] = seen[d];
}

template <int bits>
ONEXPU_KERNEL void sort_move(const std::uint64_t* numbers, const std::uint32_t* places,
                             const std::int64_t* positions, std::uint64_t* moved_numbers,
                             std::uint32_t* moved_places, SortPass pass) {
  const std::int64_t chunk = std::int64_t(onexpu::global_id());
  const std::int64_t first = chunk * pass.chunk;
  const std::int64_t last = sycl::min(first + pass.chunk, pass.elements);
  std::uint32_t next[1 << bits];
  for (int d = 0; d < 1 << bits; ++d) next[d] = std::uint32_t(positions[d * pass.chunks + chunk]);
  for (std::int64_t i = first; i < last; ++i) {
    const std::uint64_t number = numbers[i];
    const std::uint32_t position = next[digit<bits>(number, pass)]++;
    moved_numbers[position] = number;
    moved_places[position] = pass.has_places ? places[i] : std::uint32_t(i);
  }
}
