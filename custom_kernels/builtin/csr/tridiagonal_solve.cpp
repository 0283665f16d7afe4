// Solves tridiagonal systems by Gaussian elimination, with partial pivoting or without (LAPACK's
// gtsv). Kernel source: built by sycl_kernels, see BUILD.
//
// First each matrix is factorised by a work-item, then each right-hand side solved by one. Row i of
// the factorised matrix has its pivot and the two elements behind it; what it took to get there is
// the factor by which it was subtracted from the row below, and whether the two changed places.

#include "custom_kernels/builtin/support/complex.hpp"

struct TridiagonalSizes {
  std::int64_t rows, batches, columns;
  std::int32_t is_pivoting, padding;
};

// Of all matrices, those of one row side by side: [rows][batches].
template <typename T>
struct Factors {
  T *pivots, *firsts, *seconds, *factors;
  std::uint8_t* swaps;
};

namespace {

template <typename R>
inline R size(R value) {
  return sycl::fabs(value);
}
template <typename R>
inline R size(Complex<R> value) {
  return sycl::fabs(value.real) + sycl::fabs(value.imaginary);
}

// Where the arrays of factors begin in their memory, which is aligned for T.
template <typename T>
inline Factors<T> factors_in(void* memory, const TridiagonalSizes& sizes) {
  T* const begin = static_cast<T*>(memory);
  const std::int64_t elements = sizes.rows * sizes.batches;
  return {begin, begin + elements, begin + 2 * elements, begin + 3 * elements,
          reinterpret_cast<std::uint8_t*>(begin + 4 * elements)};
}

}  // namespace

// `diagonals` [batches, 3, rows]: above, main, below; the last of the first and the first of the
// third count for nothing.
template <typename T>
ONEXPU_KERNEL void tridiagonal_factor(const T* diagonals, void* memory, TridiagonalSizes sizes) {
  const std::int64_t batch = std::int64_t(onexpu::global_id());
  const Factors<T> made = factors_in<T>(memory, sizes);
  const T* const above = diagonals + 3 * batch * sizes.rows;
  const T* const main = above + sizes.rows;
  const T* const below = main + sizes.rows;
  T pivot = main[0], first = sizes.rows > 1 ? above[0] : T{};
  for (std::int64_t i = 0; i + 1 < sizes.rows; ++i) {
    const std::int64_t place = i * sizes.batches + batch;
    const T under = below[i + 1], next = main[i + 1];
    const T behind = i + 2 < sizes.rows ? above[i + 1] : T{};
    const bool swaps = sizes.is_pivoting && size(under) > size(pivot);
    made.swaps[place] = swaps;
    if (swaps) {
      const T factor = pivot / under;
      made.pivots[place] = under;
      made.firsts[place] = next;
      made.seconds[place] = behind;
      made.factors[place] = factor;
      pivot = first - factor * next;
      first = T{} - factor * behind;
    } else {
      const T factor = under / pivot;
      made.pivots[place] = pivot;
      made.firsts[place] = first;
      made.seconds[place] = T{};
      made.factors[place] = factor;
      pivot = next - factor * first;
      first = behind;
    }
  }
  made.pivots[(sizes.rows - 1) * sizes.batches + batch] = pivot;
}

// `right` and `result` [batches, rows, columns].
template <typename T>
ONEXPU_KERNEL void tridiagonal_solve(const T* right, void* memory, T* result,
                                     TridiagonalSizes sizes) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t batch = id / sizes.columns, column = id % sizes.columns;
  const Factors<T> made = factors_in<T>(memory, sizes);
  const std::int64_t begin = batch * sizes.rows * sizes.columns + column;
  T current = right[begin];
  for (std::int64_t i = 0; i + 1 < sizes.rows; ++i) {
    const std::int64_t place = i * sizes.batches + batch;
    const T next = right[begin + (i + 1) * sizes.columns], factor = made.factors[place];
    const bool swaps = made.swaps[place];
    result[begin + i * sizes.columns] = swaps ? next : current;
    current = swaps ? current - factor * next : next - factor * current;
  }
  T last = current / made.pivots[(sizes.rows - 1) * sizes.batches + batch], before_last = T{};
  result[begin + (sizes.rows - 1) * sizes.columns] = last;
  for (std::int64_t i = sizes.rows - 2; i >= 0; --i) {
    const std::int64_t place = i * sizes.batches + batch;
    T& x = result[begin + i * sizes.columns];
    x = (x - made.firsts[place] * last - made.seconds[place] * before_last) / made.pivots[place];
    before_last = last;
    last = x;
  }
}
