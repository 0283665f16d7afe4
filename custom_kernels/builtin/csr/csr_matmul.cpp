// Products of sparse matrices in compressed rows and dense ones. Kernel source: built by
// sycl_kernels, see BUILD. For batches see csr.hpp.

#include "custom_kernels/builtin/support/complex.hpp"

struct CsrMatmulSizes {
  std::int64_t rows, inner, columns;         // of the product, of what is summed over
  std::int64_t piece, pieces;                // columns of a work-item; pieces of a row
  std::int64_t all_pieces, pieces_per_item;  // of all rows of all batches; of a work-item
  std::int32_t transpose_b, conjugate_b, transpose_output, conjugate_output;
};

namespace {

// Vectors of columns of the row of the product whose elements are `begin` to `end`. A few vectors
// have several sums each, of every fourth element or so: an addition waits for the one before it.
template <int width, int vectors, typename T>
inline void multiply_row(const std::int32_t* column_indices, const T* values, const T* matrix,
                         std::int64_t begin, std::int64_t end, T* to, std::int64_t column,
                         const CsrMatmulSizes& sizes) {
  constexpr int kSums = vectors < 4 ? 4 / vectors : 1;
  onexpu::vector<T, width> sums[kSums][vectors] = {};
  const auto add = [&](std::int64_t i, int to_sum) {
    const std::int64_t inner = column_indices[i];
    if (inner < 0 || inner >= sizes.inner) return;
    const T* const from = matrix + inner * sizes.columns + column;
    for (int v = 0; v < vectors; ++v)
      sums[to_sum][v] += values[i] * onexpu::load<T, width>(from + v * width);
  };
  std::int64_t i = begin;
  for (; i + kSums <= end; i += kSums) {
#pragma unroll
    for (int s = 0; s < kSums; ++s) add(i + s, s);
  }
  for (; i < end; ++i) add(i, 0);
  for (int v = 0; v < vectors; ++v) {
    for (int s = 1; s < kSums; ++s) sums[0][v] += sums[s][v];
    onexpu::store<T, width>(sums[0][v], to + column + v * width);
  }
}

}  // namespace

// A work-group per row of the product, of all batches, and piece of it: its work-items are columns
// side by side, of which each has several in a whole piece.
template <typename T>
ONEXPU_KERNEL void csr_matmul_wide(const std::int32_t* row_pointers,
                                   const std::int32_t* column_indices, const T* values,
                                   const std::int64_t* batch_begins, const T* b, T* result,
                                   CsrMatmulSizes sizes) {
  constexpr int kAtOnce = 4;
  const auto item = onexpu::item();
  const std::int64_t width = std::int64_t(item.get_local_range(0));
  const std::int64_t group = std::int64_t(item.get_group(0));
  const std::int64_t row = group / sizes.pieces;
  const std::int64_t first_column = (group - row * sizes.pieces) * sizes.piece;
  const std::int64_t batch = row / sizes.rows;
  const std::int64_t before = batch_begins == nullptr ? 0 : batch_begins[batch];
  const std::int64_t begin = before + row_pointers[row + batch];
  const std::int64_t end = before + row_pointers[row + batch + 1];
  const T* const matrix = b + batch * sizes.inner * sizes.columns;
  T* const to = result + row * sizes.columns;
  std::int64_t column = first_column + std::int64_t(item.get_local_id(0));
  if (first_column + kAtOnce * width <= sizes.columns) {
    T sums[kAtOnce] = {};
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t inner = column_indices[i];
      if (inner < 0 || inner >= sizes.inner) continue;
      const T* const from = matrix + inner * sizes.columns + column;
      for (int c = 0; c < kAtOnce; ++c) sums[c] += values[i] * from[c * width];
    }
    for (int c = 0; c < kAtOnce; ++c)
      to[column + c * width] = sizes.conjugate_output ? conjugate(sums[c]) : sums[c];
    return;
  }
  for (; column < sizes.columns; column += width) {
    T sum = {};
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t inner = column_indices[i];
      if (inner < 0 || inner >= sizes.inner) continue;
      sum += values[i] * matrix[inner * sizes.columns + column];
    }
    to[column] = sizes.conjugate_output ? conjugate(sum) : sum;
  }
}

namespace {

// A piece of a row of the product, of all batches.
template <typename T>
inline void multiply_piece(const std::int32_t* row_pointers, const std::int32_t* column_indices,
                           const T* values, const std::int64_t* batch_begins, const T* b, T* result,
                           std::int64_t id, const CsrMatmulSizes& sizes) {
  constexpr int kAtOnce = 16;  // sums in registers
  const std::int64_t row = id / sizes.pieces;
  const std::int64_t first_column = (id - row * sizes.pieces) * sizes.piece;
  const std::int64_t last_column = sycl::min(first_column + sizes.piece, sizes.columns);
  const std::int64_t batch = row / sizes.rows;
  const std::int64_t before = batch_begins == nullptr ? 0 : batch_begins[batch];
  const std::int64_t begin = before + row_pointers[row + batch];
  const std::int64_t end = before + row_pointers[row + batch + 1];
  const std::int64_t inner_step = sizes.transpose_b ? 1 : sizes.columns;
  const std::int64_t column_step = sizes.transpose_b ? sizes.inner : 1;
  const T* const matrix = b + batch * sizes.inner * sizes.columns;
  const std::int64_t to_step = sizes.transpose_output ? sizes.rows : 1;
  T* const to = result + batch * sizes.rows * sizes.columns +
                (row - batch * sizes.rows) * (sizes.transpose_output ? 1 : sizes.columns);
  std::int64_t column = first_column;
  if constexpr (!is_complex<T>) {
    const auto multiply = [&](auto width, auto vectors) {
      constexpr int kWidth = decltype(width)::value, kVectors = decltype(vectors)::value;
      for (; column + kWidth * kVectors <= last_column; column += kWidth * kVectors)
        multiply_row<kWidth, kVectors>(column_indices, values, matrix, begin, end, to, column,
                                       sizes);
    };
    if (!sizes.transpose_b && !sizes.transpose_output) {
      multiply(std::integral_constant<int, 16>(), std::integral_constant<int, 4>());
      multiply(std::integral_constant<int, 16>(), std::integral_constant<int, 2>());
      multiply(std::integral_constant<int, 16>(), std::integral_constant<int, 1>());
      multiply(std::integral_constant<int, 8>(), std::integral_constant<int, 1>());
      multiply(std::integral_constant<int, 4>(), std::integral_constant<int, 1>());
      multiply(std::integral_constant<int, 1>(), std::integral_constant<int, 1>());
    }
  }
  for (; column < last_column; column += kAtOnce) {
    const int width = int(sycl::min(last_column - column, std::int64_t(kAtOnce)));
    T sums[kAtOnce] = {};
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t inner = column_indices[i];
      if (inner < 0 || inner >= sizes.inner) continue;
      const T value = values[i];
      const T* const from = matrix + inner * inner_step + column * column_step;
      for (int c = 0; c < width; ++c) {
        const T other = from[c * column_step];
        sums[c] += value * (sizes.conjugate_b ? conjugate(other) : other);
      }
    }
    for (int c = 0; c < width; ++c)
      to[(column + c) * to_step] = sizes.conjugate_output ? conjugate(sums[c]) : sums[c];
  }
}

}  // namespace

// A work-item per `pieces_per_item` pieces.
template <typename T>
ONEXPU_KERNEL void csr_matmul(const std::int32_t* row_pointers, const std::int32_t* column_indices,
                              const T* values, const std::int64_t* batch_begins, const T* b,
                              T* result, CsrMatmulSizes sizes) {
  const std::int64_t begin = std::int64_t(onexpu::global_id()) * sizes.pieces_per_item;
  const std::int64_t end = sycl::min(begin + sizes.pieces_per_item, sizes.all_pieces);
  for (std::int64_t id = begin; id < end; ++id)
    multiply_piece(row_pointers, column_indices, values, batch_begins, b, result, id, sizes);
}
