// The coordinates of elements that are not zero, in row-major order: TensorFlow's Where. Kernel
// source: built by sycl_kernels, see BUILD.
//
// Passes over chunks of elements: count, and write where the scanned counts say. Whether an element
// is zero depends on its bits alone: `mask` leaves out the signs of floating-point numbers, so one
// kernel serves all types of a size.

#include "custom_kernels/builtin/support/bits128.hpp"

struct WhereSizes {
  std::int64_t elements, chunk;
  std::uint64_t mask;
  std::int32_t rank;
  std::int32_t padding;
  std::int64_t dimensions[8];
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

// The coordinates of an element, and of those that come after.
struct Place {
  std::int64_t element;
  std::int64_t at[8];

  Place(std::int64_t first, const WhereSizes& sizes) : element(first) {
    std::int64_t rest = first;
    for (std::int32_t d = sizes.rank - 1; d >= 0; --d) {
      at[d] = rest % sizes.dimensions[d];
      rest /= sizes.dimensions[d];
    }
  }

  void go_to(std::int64_t next, const WhereSizes& sizes) {
    std::int64_t carried = next - element;
    element = next;
    for (std::int32_t d = sizes.rank - 1; d >= 0 && carried > 0; --d) {
      at[d] += carried;
      // Mostly it is the next row.
      carried = at[d] < sizes.dimensions[d]       ? 0
                : at[d] < 2 * sizes.dimensions[d] ? 1
                                                  : at[d] / sizes.dimensions[d];
      at[d] -= carried * sizes.dimensions[d];
    }
  }
};

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
  constexpr int kAtOnce = 64;
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  if (first >= last) return;
  std::int64_t* row = coordinates + positions[onexpu::global_id()] * sizes.rank;
  Place place(first, sizes);
  for (std::int64_t begin = first; begin < last; begin += kAtOnce) {
    // Which of the next ones, found without branches, for nothing predicts them.
    std::int32_t found[kAtOnce];
    int count = 0;
    const int width = int(sycl::min(last - begin, std::int64_t(kAtOnce)));
    for (int i = 0; i < width; ++i) {
      found[count] = i;
      count += is_nonzero(elements[begin + i], sizes.mask);
    }
    if (sizes.rank == 1) {
      for (int i = 0; i < count; ++i) *row++ = begin + found[i];
      continue;
    }
    for (int i = 0; i < count; ++i) {
      place.go_to(begin + found[i], sizes);
      for (std::int32_t d = 0; d < sizes.rank; ++d) row[d] = place.at[d];
      row += sizes.rank;
    }
  }
}
