// Reductions of one dimension of an array of any size. Kernel source: built by sycl_kernels, see
// BUILD.
//
// The array has `rows` rows, one after the other. A row is a matrix of `columns` columns, whose
// last line may be short, and each column is reduced in `pieces`, line by line. Where a row has one
// result, a CPU reduces it as a vector (reduce_vectors), and a GPU as a matrix, whose results it
// then reduces again. Nothing is atomic: results do not depend on the order of work-items.

// As reduce.cc fills it.
struct ReduceSizes {
  std::int64_t rows, columns;
  std::int64_t row_elements;
  std::int64_t piece, pieces;  // lines of a piece, and pieces of a column
  std::int64_t blocks;         // of columns, one for each work-item
  std::int64_t chunk, tasks;   // of a work-item, and of all
  std::int64_t count;          // that a mean divides by; 0: nothing is divided
  std::int32_t combiner;       // as reduce.cc numbers them
};

namespace {

enum Combiner { kSum, kProduct, kMinimum, kMaximum };

// So many terms follow one another in a sum: the error of longer ones grows with their number.
constexpr std::int64_t kTermsInTurn = 64;

template <int combiner, typename V>
inline V combine(V a, V b) {
  if constexpr (combiner == kProduct) return a * b;
  // Of NaN and numbers, in any order, the result is NaN.
  if constexpr (combiner == kMinimum) return b < a || b != b ? b : a;
  if constexpr (combiner == kMaximum) return a < b || b != b ? b : a;
  return a + b;
}

template <int combiner, typename S>
inline S none() {
  using Limits = std::numeric_limits<S>;
  if constexpr (combiner == kProduct) return S(1);
  if constexpr (combiner == kMinimum)
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  if constexpr (combiner == kMaximum)
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  return S(0);
}

// The lines `begin` to `end` of `width` columns, of which the first begin at `data`.
template <int combiner, int width, typename S, typename T>
inline onexpu::vector<S, width> reduce_lines(const T* data, std::int64_t begin, std::int64_t end,
                                             std::int64_t columns) {
  using V = onexpu::vector<S, width>;
  V result = none<combiner, S>();
  while (begin < end) {
    const std::int64_t last = sycl::min(begin + kTermsInTurn, end);
    V part = none<combiner, S>();
    for (; begin < last; ++begin)
      part = combine<combiner>(part, V(onexpu::load<S, width>(data + begin * columns)));
    result = combine<combiner>(result, part);
  }
  return result;
}

// The elements `begin` to `end`, in vectors.
template <int combiner, typename S, typename T>
inline S reduce_elements(const T* data, std::int64_t begin, std::int64_t end) {
  constexpr int kWidth = 16;
  S result = none<combiner, S>();
  const std::int64_t vectors = (end - begin) / kWidth;
  if (vectors > 0) {
    const auto lanes = reduce_lines<combiner, kWidth, S>(data + begin, 0, vectors, kWidth);
    for (int lane = 0; lane < kWidth; ++lane) result = combine<combiner>(result, S(lanes[lane]));
  }
  S rest = none<combiner, S>();
  for (std::int64_t i = begin + vectors * kWidth; i < end; ++i)
    rest = combine<combiner>(rest, S(data[i]));
  return combine<combiner>(result, rest);
}

// The number of elements as a float. Not converted from 64 bits directly: for that the CPU driver's
// compiler calls a function, and hoists the call to a path without a division.
template <typename S>
inline S number(std::int64_t count) {
  if constexpr (std::is_integral_v<S>) return S(count);
  return S(std::int32_t(count >> 16)) * S(1 << 16) + S(std::int32_t(count & 0xffff));
}

// Calls `body(combiner)`.
template <typename Body>
inline void with_combiner(std::int32_t combiner, Body body) {
  switch (combiner) {
    case kProduct:
      return body(std::integral_constant<int, kProduct>());
    case kMinimum:
      return body(std::integral_constant<int, kMinimum>());
    case kMaximum:
      return body(std::integral_constant<int, kMaximum>());
  }
  body(std::integral_constant<int, kSum>());
}

// One task: `width` columns of a piece.
template <int combiner, int width, typename From, typename To>
inline void reduce_columns_of(const From* data, To* result, std::int64_t row, std::int64_t piece,
                              std::int64_t column, const ReduceSizes& sizes) {
  using S = onexpu::wide<From>;
  const std::int64_t lines =
      (sizes.row_elements - (column + width) + sizes.columns) / sizes.columns;
  const std::int64_t begin = piece * sizes.piece;
  const std::int64_t end = sycl::min(begin + sizes.piece, lines);
  auto reduced = reduce_lines<combiner, width, S>(data + row * sizes.row_elements + column, begin,
                                                  end, sizes.columns);
  if (sizes.count != 0) reduced = reduced / number<S>(sizes.count);
  onexpu::store<S, width>(reduced, result + (row * sizes.pieces + piece) * sizes.columns + column);
}

}  // namespace

// A task is a piece of a row.
template <typename From, typename To>
ONEXPU_KERNEL void reduce_vectors(const From* data, To* result, ReduceSizes sizes) {
  using S = onexpu::wide<From>;
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.tasks);
  with_combiner(sizes.combiner, [&](auto combiner) {
    for (std::int64_t task = first; task < last; ++task) {
      const std::int64_t row = task / sizes.pieces, piece = task - row * sizes.pieces;
      const std::int64_t begin = piece * sizes.piece;
      const std::int64_t end = sycl::min(begin + sizes.piece, sizes.row_elements);
      S reduced = reduce_elements<decltype(combiner)::value, S>(data + row * sizes.row_elements,
                                                                begin, end);
      if (sizes.count != 0) reduced = reduced / number<S>(sizes.count);
      result[task] = To(reduced);
    }
  });
}

// A task is a block of `width` adjacent columns of a piece; narrower ones at the end of a row are
// taken apart.
template <typename From, typename To, int width>
ONEXPU_KERNEL void reduce_columns(const From* data, To* result, ReduceSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.tasks);
  with_combiner(sizes.combiner, [&](auto combiner) {
    constexpr int kCombiner = decltype(combiner)::value;
    for (std::int64_t task = first; task < last; ++task) {
      const std::int64_t piece_of_row = task / sizes.blocks;
      const std::int64_t row = piece_of_row / sizes.pieces;
      const std::int64_t piece = piece_of_row - row * sizes.pieces;
      std::int64_t column = (task - piece_of_row * sizes.blocks) * width;
      if (column + width <= sizes.columns) {
        reduce_columns_of<kCombiner, width>(data, result, row, piece, column, sizes);
        continue;
      }
      for (; column < sizes.columns; ++column)
        reduce_columns_of<kCombiner, 1>(data, result, row, piece, column, sizes);
    }
  });
}
