// Equal pieces of sparse tensors of coordinates. Kernel source: built by sycl_kernels, see BUILD.

#include "custom_kernels/builtin/support/bits128.hpp"

struct SplitSizes {
  std::int64_t elements, pieces, chunk;
  std::int64_t extent;          // of the dimension that is cut
  std::int64_t length, longer;  // of a piece in it, and how many have one more
  std::int64_t first, count;    // pieces that have a destination
  std::int32_t rank, dimension;
};

// Some pieces side by side: addresses, and where each begins in the dimension.
struct Destinations {
  std::uint64_t coordinates[16], values[16];
  std::int64_t begin[16];
};

namespace {

// Of numbers that are not negative. Processors divide small ones sooner.
inline std::int64_t divide(std::int64_t a, std::int64_t b) {
  return ((a | b) >> 32) == 0 ? std::int64_t(std::uint32_t(a) / std::uint32_t(b)) : a / b;
}

inline void move_coordinates(const std::int64_t* from, std::int64_t* to, std::int64_t begin,
                             const SplitSizes& sizes) {
  for (std::int32_t d = 0; d < sizes.rank; ++d)
    to[d] = from[d] - (d == sizes.dimension ? begin : 0);
}

}  // namespace

// A work-item per chunk, whose divisions of 64 bits are then seldom done: the piece that each
// element is in, or -1.
ONEXPU_KERNEL void split_find(const std::int64_t* coordinates, std::int32_t* piece_of,
                              SplitSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  const std::int64_t of_longer = sizes.longer * (sizes.length + 1);
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t place = coordinates[i * sizes.rank + sizes.dimension];
    std::int64_t piece = -1;
    if (place >= 0 && place < of_longer) {
      piece = divide(place, sizes.length + 1);
    } else if (place >= 0 && place < sizes.extent) {
      piece = sizes.longer + divide(place - of_longer, sizes.length);
    }
    piece_of[i] = std::int32_t(piece);
  }
}

// A work-item per piece.
ONEXPU_KERNEL void split_count(const std::int64_t* begins, std::int64_t* counts) {
  const std::int64_t piece = std::int64_t(onexpu::global_id());
  counts[piece] = begins[piece + 1] - begins[piece];
}

// A work-item per chunk of elements, each of which goes after those of its piece in the chunks
// before; see CountedKinds.
template <typename Bits>
ONEXPU_KERNEL void split_move(const std::int64_t* coordinates, const Bits* values,
                              const std::int32_t* piece_of, const std::uint32_t* counts,
                              Destinations to, SplitSizes sizes) {
  const std::int64_t chunk = std::int64_t(onexpu::global_id()), first = chunk * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  const std::uint32_t* const before = counts + chunk * (sizes.pieces + 1) + sizes.first;
  std::uint32_t next[16];
  for (std::int64_t k = 0; k < sizes.count; ++k) next[k] = before[k];
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t k = piece_of[i] - sizes.first;
    if (k < 0 || k >= sizes.count) continue;
    const std::int64_t place = next[k]++;
    move_coordinates(coordinates + i * sizes.rank,
                     reinterpret_cast<std::int64_t*>(to.coordinates[k]) + place * sizes.rank,
                     to.begin[k], sizes);
    reinterpret_cast<Bits*>(to.values[k])[place] = values[i];
  }
}

// A work-item per chunk of the elements of one piece, whose places these are.
template <typename Bits>
ONEXPU_KERNEL void split_gather(const std::int64_t* coordinates, const Bits* values,
                                const std::uint32_t* places, std::int64_t* new_coordinates,
                                Bits* new_values, std::int64_t begin, SplitSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t from = places[i];
    move_coordinates(coordinates + from * sizes.rank, new_coordinates + i * sizes.rank, begin,
                     sizes);
    new_values[i] = values[from];
  }
}
