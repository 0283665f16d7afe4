// Reductions of runs of rows: TensorFlow's segment reductions, also of rows that indices pick.
// Kernel source: built by sycl_kernels, see BUILD.
//
// Segment numbers ascend along the rows, so a segment is a run of them: a first pass notes where
// each begins, a second one reduces it, row by row. Nothing is atomic: results do not depend on the
// order of work-items.

struct SegmentSizes {
  std::int64_t rows;  // that are reduced
  std::int64_t columns;
  std::int64_t segments;
  std::int64_t data_rows;                       // that indices pick from
  std::int64_t chunk;                           // rows or segments that a work-item walks over
  std::int32_t ids_are_wide, indices_are_wide;  // 64-bit, else 32
  std::int32_t combiner;                        // as segment_reduce.cc numbers them
  std::int32_t has_indices;
};

namespace {

inline std::int64_t read(const void* numbers, std::int32_t is_wide, std::int64_t i) {
  return is_wide ? static_cast<const std::int64_t*>(numbers)[i]
                 : static_cast<const std::int32_t*>(numbers)[i];
}

enum Combiner { kSum, kMean, kSqrtN, kProduct, kMinimum, kMaximum };

template <int combiner, typename V>
inline V combine(V a, V b) {
  if constexpr (combiner == kProduct) return a * b;
  if constexpr (combiner == kMinimum) return b < a ? b : a;
  if constexpr (combiner == kMaximum) return a < b ? b : a;
  return a + b;
}

// Some columns side by side of rows `begin` to `end`, combined in this order; `none` of no rows.
template <int combiner, int width, typename T>
inline auto combine_rows(const T* data, const void* indices, std::int64_t begin, std::int64_t end,
                         std::int64_t column, onexpu::wide<T> none, const SegmentSizes& sizes) {
  using S = onexpu::wide<T>;
  onexpu::vector<S, width> combined = none;
  for (std::int64_t i = begin; i < end; ++i) {
    std::int64_t row = i;
    if (sizes.has_indices) {
      row = read(indices, sizes.indices_are_wide, i);
      if (row < 0 || row >= sizes.data_rows) continue;
    }
    const auto values = onexpu::load<S, width>(data + row * sizes.columns + column);
    combined = i == begin ? values : combine<combiner>(combined, values);
  }
  return combined;
}

template <int width, typename T>
inline void reduce(const T* data, const void* indices, const std::int64_t* begins, T* result,
                   std::int64_t segment, std::int64_t column, const SegmentSizes& sizes) {
  using S = onexpu::wide<T>;
  const std::int64_t begin = begins[segment], end = begins[segment + 1], count = end - begin;
  T* const to = result + segment * sizes.columns + column;
  const auto combine_all = [&](auto combiner, S none) {
    return combine_rows<decltype(combiner)::value, width>(data, indices, begin, end, column, none,
                                                          sizes);
  };
  switch (sizes.combiner) {
    case kProduct:
      return onexpu::store<S, width>(combine_all(std::integral_constant<int, kProduct>(), 1), to);
    case kMinimum:
      return onexpu::store<S, width>(combine_all(std::integral_constant<int, kMinimum>(), 0), to);
    case kMaximum:
      return onexpu::store<S, width>(combine_all(std::integral_constant<int, kMaximum>(), 0), to);
  }
  auto sum = combine_all(std::integral_constant<int, kSum>(), 0);
  if (sizes.combiner == kMean && count > 1) sum = sum / S(count);
  if constexpr (!std::is_integral_v<T>) {
    if (sizes.combiner == kSqrtN && count > 1) sum = sum / sycl::sqrt(S(count));
  }
  onexpu::store<S, width>(sum, to);
}

}  // namespace

// Verdict: whether a number is smaller than the one before, whether an index is outside, the first
// and the last number. The first two are zero before.
ONEXPU_KERNEL void segment_check(const void* ids, const void* indices, std::int64_t* verdict,
                                 SegmentSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.rows);
  bool descends = false, is_outside = false;
  for (std::int64_t i = first; i < last; ++i) {
    if (i > 0) {
      descends =
          descends || read(ids, sizes.ids_are_wide, i) < read(ids, sizes.ids_are_wide, i - 1);
    }
    if (sizes.has_indices) {
      const std::int64_t index = read(indices, sizes.indices_are_wide, i);
      is_outside = is_outside || index < 0 || index >= sizes.data_rows;
    }
  }
  // All who write write the same.
  if (descends) verdict[0] = 1;
  if (is_outside) verdict[1] = 1;
  if (first == 0) {
    verdict[2] = read(ids, sizes.ids_are_wide, 0);
    verdict[3] = read(ids, sizes.ids_are_wide, sizes.rows - 1);
  }
}

// Over the rows and one more for the end, a work-item per chunk: begins[s] is the first row of
// segment s or of the next one that has any.
ONEXPU_KERNEL void segment_begins(const void* ids, std::int64_t* begins, SegmentSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.rows + 1);
  std::int64_t before = first == 0 ? -1 : read(ids, sizes.ids_are_wide, first - 1);
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t here = i == sizes.rows ? sizes.segments : read(ids, sizes.ids_are_wide, i);
    // What is not ascending or outside is somebody else's to refuse; nothing is written there.
    for (std::int64_t s = sycl::max(before, std::int64_t(-1)) + 1;
         s <= sycl::min(here, sizes.segments); ++s) {
      begins[s] = i;
    }
    before = here;
  }
}

// A GPU's: a work-item per segment and column.
template <typename T>
ONEXPU_KERNEL void segment_reduce(const T* data, const void* indices, const std::int64_t* begins,
                                  T* result, SegmentSizes sizes) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t segment = id / sizes.columns;
  reduce<1>(data, indices, begins, result, segment, id - segment * sizes.columns, sizes);
}

// A CPU's: a work-item per chunk of segments.
template <typename T>
ONEXPU_KERNEL void segment_reduce_rows(const T* data, const void* indices,
                                       const std::int64_t* begins, T* result, SegmentSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.segments);
  for (std::int64_t segment = first; segment < last; ++segment) {
    std::int64_t column = 0;
    for (; column + 16 <= sizes.columns; column += 16)
      reduce<16>(data, indices, begins, result, segment, column, sizes);
    for (; column + 4 <= sizes.columns; column += 4)
      reduce<4>(data, indices, begins, result, segment, column, sizes);
    for (; column < sizes.columns; ++column)
      reduce<1>(data, indices, begins, result, segment, column, sizes);
  }
}
