// Slices of sparse tensors of coordinates, and joining them. Kernel source: built by sycl_kernels,
// see BUILD.

#include "custom_kernels/builtin/support/bits128.hpp"

struct PieceSizes {
  std::int64_t elements, chunk;
  std::int32_t rank, dimension;
  std::int64_t offset;               // to be added in that dimension
  std::int64_t start[16], size[16];  // of a slice
};

namespace {

inline bool is_in_slice(const std::int64_t* coordinates, std::int64_t i, const PieceSizes& sizes) {
  for (std::int32_t d = 0; d < sizes.rank; ++d) {
    const std::int64_t place = coordinates[i * sizes.rank + d] - sizes.start[d];
    if (place < 0 || place >= sizes.size[d]) return false;
  }
  return true;
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

// A work-item per element.
ONEXPU_KERNEL void concat_shift(const std::int64_t* coordinates, std::int64_t* result,
                                PieceSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  for (std::int32_t d = 0; d < sizes.rank; ++d) {
    result[i * sizes.rank + d] =
        coordinates[i * sizes.rank + d] + (d == sizes.dimension ? sizes.offset : 0);
  }
}
