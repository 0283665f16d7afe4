// Products of a sparse matrix of coordinates and a dense one. Kernel source: built by sycl_kernels,
// see BUILD.
//
// A's elements of one row are a run, which one work-item sums up: as they are given, where their
// rows ascend, else as they are after a stable sort. Nothing is atomic: results do not depend on
// the order of work-items.

#include "custom_kernels/builtin/support/complex.hpp"

struct SparseMatmulSizes {
  std::int64_t elements;              // of A
  std::int64_t rows, inner, columns;  // of the result, of what is summed over
  std::int64_t chunk, piece, pieces;  // elements, columns of a work-item; pieces of a row
  std::int64_t elements_per_item;     // elements of a work-item of sparse_matmul_rows
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

// A's elements as they are given.
template <typename Index>
struct GivenElements {
  const Index* coordinates;
  std::int64_t row(std::int64_t i) const { return coordinates[2 * i]; }
  std::int64_t inner(std::int64_t i) const { return coordinates[2 * i + 1]; }
  std::int64_t place(std::int64_t i) const { return i; }
};

template <typename Index>
struct SortedElements {
  const Index* coordinates;
  const std::uint64_t* numbers;
  const std::uint32_t* places;
  std::int32_t inner_is;
  std::int64_t row(std::int64_t i) const { return std::int64_t(numbers[i]); }
  std::int64_t inner(std::int64_t i) const { return coordinates[2 * place(i) + inner_is]; }
  std::int64_t place(std::int64_t i) const { return places[i]; }
};

// Vectors of columns of the row of the result whose elements begin at `begin`. Returns their end.
template <int width, int vectors, typename Elements, typename T>
inline std::int64_t multiply_row(const Elements& elements, const T* values, const T* b,
                                 std::int64_t begin, std::int64_t column, T* result,
                                 const SparseMatmulSizes& sizes) {
  using C = onexpu::wide<T>;
  const std::int64_t row = elements.row(begin);
  onexpu::vector<C, width> sums[vectors] = {};
  std::int64_t i = begin;
  for (; i < sizes.elements && elements.row(i) == row; ++i) {
    const std::int64_t inner = elements.inner(i);
    const bool is_inside = inner >= 0 && inner < sizes.inner;
    const C value = is_inside ? C(values[elements.place(i)]) : not_a_number(C{});
    const T* const from = b + (is_inside ? inner * sizes.columns : 0) + column;
    for (int v = 0; v < vectors; ++v) sums[v] += value * onexpu::load<C, width>(from + v * width);
  }
  T* const to = result + row * sizes.columns + column;
  for (int v = 0; v < vectors; ++v) onexpu::store<C, width>(sums[v], to + v * width);
  return i;
}

// A work-item's chunk of elements and piece of a row.
struct Part {
  std::int64_t first, last, first_column, last_column;
};

inline Part part_of(const SparseMatmulSizes& sizes) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t first = id / sizes.pieces * sizes.chunk;
  const std::int64_t column = id % sizes.pieces * sizes.piece;
  return {first, sycl::min(first + sizes.chunk, sizes.elements), column,
          sycl::min(column + sizes.piece, sizes.columns)};
}

// The rows of the result whose elements begin in the chunk. False where rows do not ascend.
template <typename Elements, typename T>
inline bool multiply(const Elements& elements, const T* values, const T* b, T* result,
                     const SparseMatmulSizes& sizes) {
  using C = onexpu::wide<T>;
  constexpr int kAtOnce = 16;  // sums in registers
  const std::int64_t inner_step = sizes.adjoint_b ? 1 : sizes.columns;
  const std::int64_t column_step = sizes.adjoint_b ? sizes.inner : 1;
  const Part part = part_of(sizes);
  for (std::int64_t begin = part.first, end; begin < part.last; begin = end) {
    end = begin + 1;
    const std::int64_t row = elements.row(begin);
    const std::int64_t before = begin > 0 ? elements.row(begin - 1) : -1;
    if (row == before) continue;
    if (row < 0 || row < before || row >= sizes.rows) return false;
    std::int64_t column = part.first_column;
    if constexpr (!is_complex<T>) {
      const auto by_vectors = [&](auto width, auto vectors) {
        constexpr int kWidth = decltype(width)::value, kVectors = decltype(vectors)::value;
        for (; column + kWidth * kVectors <= part.last_column; column += kWidth * kVectors)
          end = multiply_row<kWidth, kVectors>(elements, values, b, begin, column, result, sizes);
      };
      if (!sizes.adjoint_b) {
        by_vectors(std::integral_constant<int, 16>(), std::integral_constant<int, 4>());
        by_vectors(std::integral_constant<int, 16>(), std::integral_constant<int, 1>());
        by_vectors(std::integral_constant<int, 4>(), std::integral_constant<int, 1>());
        by_vectors(std::integral_constant<int, 1>(), std::integral_constant<int, 1>());
      }
    }
    for (; column < part.last_column; column += kAtOnce) {
      const int width = int(sycl::min(part.last_column - column, std::int64_t(kAtOnce)));
      C sums[kAtOnce] = {};
      for (end = begin; end < sizes.elements && elements.row(end) == row; ++end) {
        const std::int64_t inner = elements.inner(end);
        C value = C(values[elements.place(end)]);
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
  return true;
}

template <typename Elements, typename T>
inline void multiply_given(const Elements& elements, const T* values, const T* b, T* result,
                           std::uint32_t* has_to_sort, const SparseMatmulSizes& sizes) {
  if (multiply(elements, values, b, result, sizes)) return;
  sycl::atomic_ref<std::uint32_t, sycl::memory_order::relaxed, sycl::memory_scope::device>(
      *has_to_sort)
      .store(1);
}

template <typename Index>
inline void number_rows(const Index* coordinates, std::uint64_t* numbers,
                        const SparseMatmulSizes& sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.elements_per_item;
  const std::int64_t last = sycl::min(first + sizes.elements_per_item, sizes.elements);
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t row = coordinates[2 * i + (sizes.adjoint_a ? 1 : 0)];
    numbers[i] = std::uint64_t(row >= 0 && row < sizes.rows ? row : sizes.rows);
  }
}

}  // namespace

// For an A that is not adjoint. A work-item per chunk of elements and piece of a row. The result
// and *has_to_sort are zero before. Where some rows do not ascend, *has_to_sort becomes 1, and what
// has been written is rows that sparse_matmul will write.
template <typename T>
ONEXPU_KERNEL void sparse_matmul_given(const void* coordinates, const T* values, const T* b,
                                       T* result, std::uint32_t* has_to_sort,
                                       SparseMatmulSizes sizes) {
  if (sizes.coordinates_are_wide) {
    const GivenElements<std::int64_t> elements = {static_cast<const std::int64_t*>(coordinates)};
    multiply_given(elements, values, b, result, has_to_sort, sizes);
  } else {
    const GivenElements<std::int32_t> elements = {static_cast<const std::int32_t*>(coordinates)};
    multiply_given(elements, values, b, result, has_to_sort, sizes);
  }
}

// What is in no row comes last, as a row after all others. Does nothing where *has_to_sort, unless
// null, is 0.
ONEXPU_KERNEL void sparse_matmul_rows(const void* coordinates, std::uint64_t* numbers,
                                      const std::uint32_t* has_to_sort, SparseMatmulSizes sizes) {
  if (has_to_sort != nullptr && *has_to_sort == 0) return;
  if (sizes.coordinates_are_wide) {
    number_rows(static_cast<const std::int64_t*>(coordinates), numbers, sizes);
  } else {
    number_rows(static_cast<const std::int32_t*>(coordinates), numbers, sizes);
  }
}

// A work-item per chunk of sorted elements and piece of a row. Rows without elements are zero
// before. Does nothing where *has_to_sort, unless null, is 0.
template <typename T>
ONEXPU_KERNEL void sparse_matmul(const void* coordinates, const T* values, const T* b,
                                 const std::uint64_t* numbers, const std::uint32_t* places,
                                 T* result, const std::uint32_t* has_to_sort,
                                 SparseMatmulSizes sizes) {
  if (has_to_sort != nullptr && *has_to_sort == 0) return;
  const std::int32_t inner_is = sizes.adjoint_a ? 0 : 1;
  if (sizes.coordinates_are_wide) {
    const SortedElements<std::int64_t> elements = {static_cast<const std::int64_t*>(coordinates),
                                                   numbers, places, inner_is};
    multiply(elements, values, b, result, sizes);
  } else {
    const SortedElements<std::int32_t> elements = {static_cast<const std::int32_t*>(coordinates),
                                                   numbers, places, inner_is};
    multiply(elements, values, b, result, sizes);
  }
}
