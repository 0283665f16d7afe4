// Products of a sparse matrix of coordinates and a dense one. Kernel source: built by sycl_kernels,
// see BUILD.
//
// A's elements are sorted by their rows, stably; those of one row are a run, which one work-item
// sums up. Nothing is atomic: results do not depend on the order of work-items.

#include "custom_kernels/builtin/complex.hpp"

struct SparseMatmulSizes {
  std::int64_t elements;              // of A
  std::int64_t rows, inner, columns;  // of the result, of what is summed over
  std::int64_t chunk, piece, pieces;  // elements, columns of a work-item; pieces of a row
  std::int32_t coordinates_are_wide;  // s64, else s32
  std::int32_t adjoint_a, adjoint_b, padding;
};

namespace {

template <typename C>
inline C not_a_number(C) {
  return C(sycl::nan(0u));
}
template <typename R>
inline Complex<R> not_a_number(Complex<R>) {
  return {R(sycl::nan(0u)), R(sycl::nan(0u))};
}

inline std::int64_t coordinate(const void* coordinates, std::int64_t i, std::int32_t which,
                               const SparseMatmulSizes& sizes) {
  return sizes.coordinates_are_wide ? static_cast<const std::int64_t*>(coordinates)[2 * i + which]
                                    : static_cast<const std::int32_t*>(coordinates)[2 * i + which];
}

// Vectors of columns of one row of the result, whose elements begin at sorted element `begin`.
template <int width, int vectors, typename T>
inline void multiply_row(const void* coordinates, const T* values, const T* b,
                         const std::uint64_t* numbers, const std::uint32_t* places,
                         std::int64_t begin, std::int64_t column, T* result,
                         const SparseMatmulSizes& sizes) {
  using C = onexpu::wide<T>;
  const std::uint64_t row = numbers[begin];
  onexpu::vector<C, width> sums[vectors] = {};
  for (std::int64_t i = begin; i < sizes.elements && numbers[i] == row; ++i) {
    const std::int64_t element = places[i];
    const std::int64_t inner = coordinate(coordinates, element, sizes.adjoint_a ? 0 : 1, sizes);
    const bool is_inside = inner >= 0 && inner < sizes.inner;
    const C value = is_inside ? C(values[element]) : not_a_number(C{});
    const T* const from = b + (is_inside ? inner * sizes.columns : 0) + column;
    for (int v = 0; v < vectors; ++v) sums[v] += value * onexpu::load<C, width>(from + v * width);
  }
  T* const to = result + row * sizes.columns + column;
  for (int v = 0; v < vectors; ++v) onexpu::store<C, width>(sums[v], to + v * width);
}

}  // namespace

// What is in no row comes last.
ONEXPU_KERNEL void sparse_matmul_rows(const void* coordinates, std::uint64_t* numbers,
                                      SparseMatmulSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  const std::int64_t row = coordinate(coordinates, i, sizes.adjoint_a ? 1 : 0, sizes);
  numbers[i] = std::uint64_t(row >= 0 && row < sizes.rows ? row : sizes.rows);
}

// A work-item per chunk of sorted elements and piece of a row. The result is zero before.
template <typename T>
ONEXPU_KERNEL void sparse_matmul(const void* coordinates, const T* values, const T* b,
                                 const std::uint64_t* numbers, const std::uint32_t* places,
                                 T* result, SparseMatmulSizes sizes) {
  using C = onexpu::wide<T>;
  constexpr int kAtOnce = 16;  // sums in registers
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t first_column = id % sizes.pieces * sizes.piece;
  const std::int64_t last_column = sycl::min(first_column + sizes.piece, sizes.columns);
  const std::int64_t first = id / sizes.pieces * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  const std::int64_t inner_step = sizes.adjoint_b ? 1 : sizes.columns;
  const std::int64_t column_step = sizes.adjoint_b ? sizes.inner : 1;
  for (std::int64_t begin = first; begin < last; ++begin) {
    const std::uint64_t row = numbers[begin];
    if (row == std::uint64_t(sizes.rows) || (begin > 0 && numbers[begin - 1] == row)) continue;
    std::int64_t column = first_column;
    if constexpr (!is_complex<T>) {
      const auto multiply = [&](auto width, auto vectors) {
        constexpr int kWidth = decltype(width)::value, kVectors = decltype(vectors)::value;
        for (; column + kWidth * kVectors <= last_column; column += kWidth * kVectors)
          multiply_row<kWidth, kVectors>(coordinates, values, b, numbers, places, begin, column,
                                         result, sizes);
      };
      if (!sizes.adjoint_b) {
        multiply(std::integral_constant<int, 16>(), std::integral_constant<int, 4>());
        multiply(std::integral_constant<int, 16>(), std::integral_constant<int, 1>());
        multiply(std::integral_constant<int, 4>(), std::integral_constant<int, 1>());
        multiply(std::integral_constant<int, 1>(), std::integral_constant<int, 1>());
      }
    }
    for (; column < last_column; column += kAtOnce) {
      const int width = int(sycl::min(last_column - column, std::int64_t(kAtOnce)));
      C sums[kAtOnce] = {};
      for (std::int64_t i = begin; i < sizes.elements && numbers[i] == row; ++i) {
        const std::int64_t element = places[i];
        const std::int64_t inner = coordinate(coordinates, element, sizes.adjoint_a ? 0 : 1, sizes);
        C value = C(values[element]);
        if (sizes.adjoint_a) value = conjugate(value);
        const bool is_inside = inner >= 0 && inner < sizes.inner;
        if (!is_inside) value = not_a_number(value);
        const T* const from = b + (is_inside ? inner : 0) * inner_step + column * column_step;
        for (int c = 0; c < width; ++c) {
          const C other = is_inside ? C(from[c * column_step]) : C{};
          sums[c] += value * (sizes.adjoint_b ? conjugate(other) : other);
        }
      }
      for (int c = 0; c < width; ++c) result[row * sizes.columns + column + c] = T(sums[c]);
    }
  }
}
