// Cutting and joining sparse tensors of coordinates. Kernel source: built by sycl_kernels, see
// BUILD.

struct PieceSizes {
  std::int64_t elements, chunk;
  std::int32_t rank, dimension;
  std::int64_t offset;               // to be added in that dimension
  std::int64_t pieces, extent;       // of that dimension, and its size
  std::int64_t length, longer;       // of a piece, and how many have one more
  std::int64_t start[16], size[16];  // of a slice
};

struct Bits128 {
  std::uint64_t low, high;
};

namespace {

inline bool is_in_slice(const std::int64_t* coordinates, std::int64_t i, const PieceSizes& sizes) {
  for (std::int32_t d = 0; d < sizes.rank; ++d) {
    const std::int64_t place = coordinates[i * sizes.rank + d] - sizes.start[d];
    if (place < 0 || place >= sizes.size[d]) return false;
  }
  return true;
}

// Of numbers that are not negative. Processors divide small ones sooner.
inline std::int64_t divide(std::int64_t a, std::int64_t b) {
  return ((a | b) >> 32) == 0 ? std::int64_t(std::uint32_t(a) / std::uint32_t(b)) : a / b;
}

}  // namespace

// A work-item per chunk, as in the next.
ONEXPU_KERNEL void slice_count(const std::int64_t* coordinates, std::int64_t* counts,
                               PieceSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  std::int64_t count = 0;
  for (std::int64_t i = first; i < last; ++i) count += is_in_slice(coordinates, i, sizes);
  counts[onexpu::global_id()] = count;
}

template <typename Bits>
ONEXPU_KERNEL void slice_write(const std::int64_t* coordinates, const Bits* values,
                               const std::int64_t* positions, std::int64_t* new_coordinates,
                               Bits* new_values, PieceSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  std::int64_t to = positions[onexpu::global_id()];
  for (std::int64_t i = first; i < last; ++i) {
    if (!is_in_slice(coordinates, i, sizes)) continue;
    for (std::int32_t d = 0; d < sizes.rank; ++d)
      new_coordinates[to * sizes.rank + d] = coordinates[i * sizes.rank + d] - sizes.start[d];
    new_values[to++] = values[i];
  }
}

// The piece that each element is in, or -1.
ONEXPU_KERNEL void split_kinds(const std::int64_t* coordinates, std::int32_t* kind_of,
                               PieceSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  const std::int64_t place = coordinates[i * sizes.rank + sizes.dimension];
  if (place < 0 || place >= sizes.extent) {
    kind_of[i] = -1;
    return;
  }
  const std::int64_t of_longer = sizes.longer * (sizes.length + 1);
  const bool is_longer = place < of_longer;
  const std::int64_t before = is_longer ? 0 : sizes.longer;
  kind_of[i] =
      std::int32_t(before + divide(place - (is_longer ? 0 : of_longer), sizes.length + is_longer));
}

// A work-item per chunk of elements, piece by piece.
template <typename Bits>
ONEXPU_KERNEL void split_write(const std::int64_t* coordinates, const Bits* values,
                               const std::uint32_t* places, const std::int64_t* begins,
                               std::int64_t* new_coordinates, Bits* new_values, PieceSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, begins[sizes.pieces]);
  if (first >= last) return;
  std::int64_t piece = 0, end = sizes.pieces;  // the last piece that does not begin behind `first`
  while (end - piece > 1) {
    const std::int64_t middle = (piece + end) / 2;
    if (begins[middle] <= first) {
      piece = middle;
    } else {
      end = middle;
    }
  }
  for (std::int64_t i = first; i < last; ++i) {
    while (begins[piece + 1] <= i) ++piece;
    const std::int64_t from = places[i];
    for (std::int32_t d = 0; d < sizes.rank; ++d)
      new_coordinates[i * sizes.rank + d] = coordinates[from * sizes.rank + d];
    new_coordinates[i * sizes.rank + sizes.dimension] -=
        piece * sizes.length + sycl::min(piece, sizes.longer);
    new_values[i] = values[from];
  }
}

// A work-item per piece.
ONEXPU_KERNEL void split_count(const std::int64_t* begins, std::int64_t* counts) {
  const std::int64_t piece = std::int64_t(onexpu::global_id());
  counts[piece] = begins[piece + 1] - begins[piece];
}

// A work-item per element.
ONEXPU_KERNEL void concat_shift(const std::int64_t* coordinates, std::int64_t* result,
                                PieceSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  for (std::int32_t d = 0; d < sizes.rank; ++d) {
    result[i * sizes.rank + d] =
        coordinates[i * sizes.rank + d] + (d == sizes.dimension ? sizes.offset : 0);
  }
}
