// The coordinates of elements that are not zero, in row-major order: TensorFlow's Where. Kernel
// source: built by sycl_kernels, see BUILD.
//
// Passes over chunks of elements: count, and write where the scanned counts say. Whether an element
// is zero depends on its bits alone: `mask` leaves out the signs of floating-point numbers, so one
// kernel serves all types of a size.

struct WhereSizes {
  std::int64_t elements, chunk;
  std::uint64_t mask;
  std::int32_t rank;
  std::int32_t padding;
  std::int64_t dimensions[8];
};

struct Bits128 {
  std::uint64_t low, high;
};

namespace {

template <typename Bits>
inline bool is_nonzero(const Bits& bits, std::uint64_t mask) {
  return (std::uint64_t(bits) & mask) != 0;
}
template <>
inline bool is_nonzero(const Bits128& bits, std::uint64_t mask) {
  return ((bits.low | bits.high) & mask) != 0;
}

}  // namespace

// One work-item per chunk.
template <typename Bits>
ONEXPU_KERNEL void where_count(const Bits* elements, std::int64_t* counts, WhereSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  std::int64_t count = 0;
  for (std::int64_t i = first; i < last; ++i) count += is_nonzero(elements[i], sizes.mask);
  counts[onexpu::global_id()] = count;
}

// One work-item per chunk.
template <typename Bits>
ONEXPU_KERNEL void where_write(const Bits* elements, const std::int64_t* positions,
                               std::int64_t* coordinates, WhereSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  std::int64_t* row = coordinates + positions[onexpu::global_id()] * sizes.rank;
  for (std::int64_t i = first; i < last; ++i) {
    if (!is_nonzero(elements[i], sizes.mask)) continue;
    std::int64_t rest = i;
    for (std::int32_t d = sizes.rank - 1; d >= 0; --d) {
      row[d] = rest % sizes.dimensions[d];
      rest /= sizes.dimensions[d];
    }
    row += sizes.rank;
  }
}
