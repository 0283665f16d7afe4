// Rows picked by their places. Kernel source: built by sycl_kernels, see BUILD.

#include "custom_kernels/builtin/support/bits128.hpp"

struct GatherSizes {
  std::int64_t rows, columns;
  std::int64_t chunk, piece;  // rows and columns of a work-item
  std::int64_t pieces;        // of a row
};

// A work-item per chunk of rows of the result and piece of a row.
template <typename Bits>
ONEXPU_KERNEL void gather_rows(const Bits* data, const std::uint32_t* places, Bits* result,
                               GatherSizes sizes) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  // A division takes longer than the copy of a number.
  const std::int64_t chunk = sizes.pieces == 1 ? id : id / sizes.pieces;
  const std::int64_t first = (id - chunk * sizes.pieces) * sizes.piece;
  const std::int64_t last = sycl::min(first + sizes.piece, sizes.columns);
  const std::int64_t last_row = sycl::min((chunk + 1) * sizes.chunk, sizes.rows);
  for (std::int64_t row = chunk * sizes.chunk; row < last_row; ++row) {
    const Bits* const from = data + places[row] * sizes.columns;
    Bits* const to = result + row * sizes.columns;
    for (std::int64_t column = first; column < last; ++column) to[column] = from[column];
  }
}

// A work-item per row of one column.
template <typename Bits>
ONEXPU_KERNEL void gather_elements(const Bits* data, const std::uint32_t* places, Bits* result) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  result[i] = data[places[i]];
}
