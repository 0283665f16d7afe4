// Rows picked by their places. Kernel source: built by sycl_kernels, see BUILD.

struct GatherSizes {
  std::int64_t columns;
  std::int64_t piece;   // columns of a row that a work-item copies
  std::int64_t pieces;  // of a row
};

struct Bits128 {
  std::uint64_t low, high;
};

// A work-item per piece of a row of the result.
template <typename Bits>
ONEXPU_KERNEL void gather_rows(const Bits* data, const std::uint32_t* places, Bits* result,
                               GatherSizes sizes) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  // A division takes longer than the copy of a number.
  const std::int64_t row = sizes.pieces == 1 ? id : id / sizes.pieces;
  const std::int64_t first = (id - row * sizes.pieces) * sizes.piece;
  const std::int64_t last = sycl::min(first + sizes.piece, sizes.columns);
  const Bits* from = data + places[row] * sizes.columns;
  Bits* to = result + row * sizes.columns;
  for (std::int64_t column = first; column < last; ++column) to[column] = from[column];
}
