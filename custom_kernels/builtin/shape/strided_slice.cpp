// Elements of an array at equal distances, to and from a dense array. Kernel source: built by
// sycl_kernels, see BUILD.

#include "custom_kernels/builtin/support/bits128.hpp"

// As strided_slice.cc fills it. Rows of `columns` elements, at positions of `rank` dimensions.
struct StridedSizes {
  std::int64_t rows, columns;
  std::int64_t offset;         // of the first element among the strided ones
  std::int64_t column_stride;  // from one element of a row to the next
  std::int64_t chunk, piece;   // rows and columns of a work-item
  std::int64_t pieces;         // of a row
  std::int64_t rank;
  std::int64_t sizes[7], strides[7];  // from the innermost to the outermost
};

namespace {

std::int64_t RowOffset(const StridedSizes& sizes, std::int64_t row) {
  std::int64_t offset = sizes.offset;
  for (std::int64_t d = 0; d < sizes.rank; ++d) {
    const std::int64_t next = row / sizes.sizes[d];
    offset += (row - next * sizes.sizes[d]) * sizes.strides[d];
    row = next;
  }
  return offset;
}

// Calls `copy(strided, dense)` for every element of this work-item, with their places.
template <typename Copy>
void ForEachElement(const StridedSizes& sizes, Copy copy) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t chunk = sizes.pieces == 1 ? id : id / sizes.pieces;
  const std::int64_t first = (id - chunk * sizes.pieces) * sizes.piece;
  const std::int64_t last = sycl::min(first + sizes.piece, sizes.columns);
  const std::int64_t last_row = sycl::min((chunk + 1) * sizes.chunk, sizes.rows);
  for (std::int64_t row = chunk * sizes.chunk; row < last_row; ++row) {
    const std::int64_t strided = RowOffset(sizes, row);
    const std::int64_t dense = row * sizes.columns;
    // A loop over adjacent elements has vector loads.
    if (sizes.column_stride == 1) {
      for (std::int64_t column = first; column < last; ++column)
        copy(strided + column, dense + column);
    } else {
      for (std::int64_t column = first; column < last; ++column)
        copy(strided + column * sizes.column_stride, dense + column);
    }
  }
}

}  // namespace

template <typename Bits>
ONEXPU_KERNEL void strided_read(const Bits* data, Bits* result, StridedSizes sizes) {
  ForEachElement(sizes,
                 [=](std::int64_t strided, std::int64_t dense) { result[dense] = data[strided]; });
}

template <typename Bits>
ONEXPU_KERNEL void strided_write(const Bits* data, Bits* result, StridedSizes sizes) {
  ForEachElement(sizes,
                 [=](std::int64_t strided, std::int64_t dense) { result[strided] = data[dense]; });
}
