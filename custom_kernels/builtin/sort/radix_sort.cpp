// A pass of a radix sort: counts the elements of each chunk by a digit, and moves them after those
// of previous chunks and smaller digits. Kernel source: built by sycl_kernels, see BUILD.
//
// An inspection of the keys first notes the bits in which they differ. A pass whose digit is equal
// in all keys does nothing, and no pass moves keys that are already sorted. The passes derive from
// the note which of the two arrays holds the keys. If there is nothing to sort, the note stays
// zero, which means that nothing moves.

struct SortPass {
  std::int64_t elements, chunk, chunks;
  std::int32_t shift;  // of the digit; in the end, all bits
  std::int32_t bits;   // of a digit
};

// Null for short arrays, which are sorted without a look.
struct SortNote {
  std::uint32_t low, high;  // bits in which numbers differ from the first one
  std::uint32_t descends;   // whether a number is less than the one before
};

namespace {

template <int bits>
inline std::uint32_t digit(std::uint64_t number, const SortPass& pass) {
  return std::uint32_t(number >> pass.shift) & ((1u << bits) - 1);
}

inline bool moves(const SortNote* note, int shift, int bits) {
  if (note == nullptr) return true;
  const std::uint64_t differing = std::uint64_t(note->high) << 32 | note->low;
  return note->descends != 0 && (differing >> shift & ((1u << bits) - 1)) != 0;
}

// How many passes before this one moved anything.
inline int moved_before(const SortNote* note, const SortPass& pass) {
  int count = 0;
  for (int shift = 0; shift < pass.shift; shift += pass.bits)
    count += moves(note, shift, pass.bits);
  return count;
}

inline void set_bits(std::uint32_t& word, std::uint32_t bits) {
  if (bits == 0) return;
  sycl::atomic_ref<std::uint32_t, sycl::memory_order::relaxed, sycl::memory_scope::device>(word)
      .fetch_or(bits);
}

}  // namespace

// A work-item per chunk, as in all that follow. The note is zero before.
ONEXPU_KERNEL void sort_look(const std::uint64_t* numbers, SortNote* note,
                             const std::uint32_t* has_to_sort, SortPass pass) {
  if (has_to_sort != nullptr && *has_to_sort == 0) return;
  const std::int64_t first = std::int64_t(onexpu::global_id()) * pass.chunk;
  const std::int64_t last = sycl::min(first + pass.chunk, pass.elements);
  const std::uint64_t one = numbers[0];
  std::uint64_t differing = 0, before = numbers[first == 0 ? 0 : first - 1];
  std::uint32_t descends = 0;
  for (std::int64_t i = first; i < last; ++i) {
    const std::uint64_t number = numbers[i];
    differing |= number ^ one;
    descends |= number < before;
    before = number;
  }
  set_bits(note->low, std::uint32_t(differing));
  set_bits(note->high, std::uint32_t(differing >> 32));
  set_bits(note->descends, descends);
}

// Counts are [digits, chunks].
template <int bits>
ONEXPU_KERNEL void sort_count(const std::uint64_t* numbers_a, const std::uint64_t* numbers_b,
                              const SortNote* note, std::int64_t* counts, SortPass pass) {
  if (!moves(note, pass.shift, bits)) return;
  const std::uint64_t* const numbers = moved_before(note, pass) % 2 == 0 ? numbers_a : numbers_b;
  const std::int64_t chunk = std::int64_t(onexpu::global_id());
  const std::int64_t first = chunk * pass.chunk;
  const std::int64_t last = sycl::min(first + pass.chunk, pass.elements);
  std::uint32_t seen[1 << bits] = {};
  for (std::int64_t i = first; i < last; ++i) ++seen[digit<bits>(numbers[i], pass)];
  for (int d = 0; d < 1 << bits; ++d) counts[d * pass.chunks + chunk] = seen[d];
}

template <int bits>
ONEXPU_KERNEL void sort_move(std::uint64_t* numbers_a, std::uint32_t* places_a,
                             std::uint64_t* numbers_b, std::uint32_t* places_b,
                             const SortNote* note, const std::int64_t* positions, SortPass pass) {
  if (!moves(note, pass.shift, bits)) return;
  const int before = moved_before(note, pass);
  const bool from_a = before % 2 == 0;
  const std::uint64_t* const numbers = from_a ? numbers_a : numbers_b;
  const std::uint32_t* const places = from_a ? places_a : places_b;
  std::uint64_t* const moved_numbers = from_a ? numbers_b : numbers_a;
  std::uint32_t* const moved_places = from_a ? places_b : places_a;
  const std::int64_t chunk = std::int64_t(onexpu::global_id());
  const std::int64_t first = chunk * pass.chunk;
  const std::int64_t last = sycl::min(first + pass.chunk, pass.elements);
  std::uint32_t next[1 << bits];
  for (int d = 0; d < 1 << bits; ++d) next[d] = std::uint32_t(positions[d * pass.chunks + chunk]);
  for (std::int64_t i = first; i < last; ++i) {
    const std::uint64_t number = numbers[i];
    const std::uint32_t position = next[digit<bits>(number, pass)]++;
    moved_numbers[position] = number;
    // At first an element's place is its number.
    moved_places[position] = before > 0 ? places[i] : std::uint32_t(i);
  }
}

// Brings what passes may have left in the other arrays to where all of them would have left it.
ONEXPU_KERNEL void sort_finish(std::uint64_t* numbers, std::uint32_t* places,
                               const std::uint64_t* other_numbers,
                               const std::uint32_t* other_places, const SortNote* note,
                               const std::uint32_t* has_to_sort, std::int32_t passes,
                               SortPass pass) {
  if (has_to_sort != nullptr && *has_to_sort == 0) return;
  const int moved = moved_before(note, pass);
  const bool is_there = moved % 2 == passes % 2;
  if (moved > 0 && is_there) return;
  const std::int64_t first = std::int64_t(onexpu::global_id()) * pass.chunk;
  const std::int64_t last = sycl::min(first + pass.chunk, pass.elements);
  for (std::int64_t i = first; i < last; ++i) {
    places[i] = moved > 0 ? other_places[i] : std::uint32_t(i);
    if (!is_there) numbers[i] = other_numbers[i];
  }
}
