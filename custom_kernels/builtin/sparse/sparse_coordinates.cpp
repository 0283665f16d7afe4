// Between the coordinates of elements and their places in row-major order. Kernel source: built by
// sycl_kernels, see BUILD.

struct CoordinateSizes {
  std::int64_t elements;  // that dimensions `first` to `last` have: beyond is no place
  std::int64_t count, chunk;
  std::int32_t rank, new_rank, first, last;
  std::int64_t shape[16], new_shape[16];
};

namespace {

inline std::int64_t place_of(const std::int64_t* indices, std::int64_t i,
                             const CoordinateSizes& sizes) {
  std::int64_t place = 0;
  for (std::int32_t d = sizes.first; d < sizes.last; ++d)
    place = place * sizes.shape[d] + indices[i * sizes.rank + d];
  return place;
}

// Processors divide small numbers sooner.
inline std::int64_t divide(std::int64_t a, std::int64_t b) {
  return ((a | b) >> 32) == 0 ? std::int64_t(std::uint32_t(a) / std::uint32_t(b)) : a / b;
}

}  // namespace

// Of the elements in their order, or in that of `order`. What has no place comes last.
ONEXPU_KERNEL void coordinate_places(const std::int64_t* indices, const std::uint32_t* order,
                                     std::uint64_t* places, CoordinateSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  const std::int64_t place = place_of(indices, order != nullptr ? order[i] : i, sizes);
  places[i] = std::uint64_t(place >= 0 && place < sizes.elements ? place : sizes.elements);
}

// The order of elements that were in `order` before `places` moved them.
ONEXPU_KERNEL void coordinate_order(const std::uint32_t* order, const std::uint32_t* places,
                                    std::uint32_t* result) {
  const std::size_t i = onexpu::global_id();
  result[i] = order[places[i]];
}

// A work-item per chunk.
ONEXPU_KERNEL void coordinate_reshape(const std::int64_t* indices, std::int64_t* result,
                                      CoordinateSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.count);
  for (std::int64_t i = first; i < last; ++i) {
    std::int64_t place = place_of(indices, i, sizes);
    for (std::int32_t d = sizes.new_rank - 1; d > 0; --d) {
      const std::int64_t rest = divide(place, sizes.new_shape[d]);
      result[i * sizes.new_rank + d] = place - rest * sizes.new_shape[d];
      place = rest;
    }
    if (sizes.new_rank > 0) result[i * sizes.new_rank] = place;
  }
}
