// Slices of an array that indices pick. Kernel source: built by sycl_kernels, see BUILD.

#include "custom_kernels/builtin/support/bits128.hpp"

// As gather.cc fills it. The array has `outer` parts of `slices` slices, the result as many parts
// of `count`.
struct GatherSizes {
  std::int64_t outer, slices, count;
  std::int64_t columns;       // of a slice
  std::int64_t chunk, piece;  // slices of the result and columns of a work-item
  std::int64_t pieces;        // of a slice
};

// A work-item per chunk of slices of the result and piece of a slice. Zeros for an index that is
// out of range.
template <typename Bits, typename Index>
ONEXPU_KERNEL void gather(const Bits* data, const Index* indices, Bits* result, GatherSizes sizes) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t chunk = sizes.pieces == 1 ? id : id / sizes.pieces;
  const std::int64_t first = (id - chunk * sizes.pieces) * sizes.piece;
  const std::int64_t last = sycl::min(first + sizes.piece, sizes.columns);
  const std::int64_t begin = chunk * sizes.chunk;
  const std::int64_t end = sycl::min(begin + sizes.chunk, sizes.outer * sizes.count);
  std::int64_t part = sizes.outer == 1 ? 0 : begin / sizes.count;
  std::int64_t number = begin - part * sizes.count;
  for (std::int64_t slice = begin; slice < end; ++slice) {
    const std::int64_t index = indices[number];
    Bits* const to = result + slice * sizes.columns;
    if (index >= 0 && index < sizes.slices) {
      const Bits* const from = data + (part * sizes.slices + index) * sizes.columns;
      for (std::int64_t column = first; column < last; ++column) to[column] = from[column];
    } else {
      for (std::int64_t column = first; column < last; ++column) to[column] = Bits{};
    }
    if (++number == sizes.count) {
      number = 0;
      ++part;
    }
  }
}
