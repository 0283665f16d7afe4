// Reductions of runs of rows: TensorFlow's segment reductions, also of rows that indices pick.
// Kernel source: built by sycl_kernels, see BUILD.
//
// Segment numbers ascend along the rows, so a segment is a run of them, reduced row by row by one
// work-item. A CPU's finds the runs on its way; for a GPU's a first pass notes where each begins.
// Nothing is atomic: results do not depend on the order of work-items.

struct SegmentSizes {
  std::int64_t rows;  // that are reduced
  std::int64_t columns;
  std::int64_t segments;
  std::int64_t data_rows;                       // that indices pick from
  std::int64_t chunk;                           // rows or segments of a work-item
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
  // Of NaN and numbers, in any order, the result is NaN, as it is of unsorted segments.
  if constexpr (combiner == kMinimum) return b < a || b != b ? b : a;
  if constexpr (combiner == kMaximum) return a < b || b != b ? b : a;
  return a + b;
}

// The number of rows as a float. Not converted from 64 bits directly: for that the CPU driver's
// compiler calls a function, and hoists the call to a path without a division.
template <typename S>
inline S number(std::int64_t count) {
  if constexpr (std::is_integral_v<S>) return S(count);
  return S(std::int32_t(count >> 16)) * S(1 << 16) + S(std::int32_t(count & 0xffff));
}

// Some columns side by side of rows `begin` to `end`, combined in this order; `none` of no rows.
template <int combiner, int width, bool has_indices, typename T>
inline auto combine_rows(const T* data, const void* indices, std::int64_t begin, std::int64_t end,
                         std::int64_t column, onexpu::wide<T> none, const SegmentSizes& sizes) {
  using S = onexpu::wide<T>;
  const auto load_row = [&](std::int64_t row) {
    return onexpu::load<S, width>(data + row * sizes.columns + column);
  };
  onexpu::vector<S, width> combined = none;
  if constexpr (has_indices) {
    bool is_first = true;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = read(indices, sizes.indices_are_wide, i);
      if (row < 0 || row >= sizes.data_rows) continue;
      combined = is_first ? load_row(row) : combine<combiner>(combined, load_row(row));
      is_first = false;
    }
  } else if (begin < end) {
    combined = load_row(begin);
    for (std::int64_t i = begin + 1; i < end; ++i)
      combined = combine<combiner>(combined, load_row(i));
  }
  return combined;
}

// These columns of `segment`, whose rows are `begin` to `end`.
template <int width, bool has_indices, typename T>
inline void reduce(const T* data, const void* indices, std::int64_t begin, std::int64_t end,
                   T* result, std::int64_t segment, std::int64_t column,
                   const SegmentSizes& sizes) {
  using S = onexpu::wide<T>;
  const std::int64_t count = end - begin;
  T* const to = result + segment * sizes.columns + column;
  const auto combine_all = [&](auto combiner, S none) {
    return combine_rows<decltype(combiner)::value, width, has_indices>(data, indices, begin, end,
                                                                       column, none, sizes);
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
  if (sizes.combiner == kMean && count > 1) sum = sum / number<S>(count);
  if constexpr (!std::is_integral_v<T>) {
    if (sizes.combiner == kSqrtN && count > 1) sum = sum / sycl::sqrt(number<S>(count));
  }
  onexpu::store<S, width>(sum, to);
}

template <bool has_indices, typename T>
inline void reduce_all_columns(const T* data, const void* indices, std::int64_t begin,
                               std::int64_t end, T* result, std::int64_t segment,
                               const SegmentSizes& sizes) {
  std::int64_t column = 0;
  for (; column + 16 <= sizes.columns; column += 16)
    reduce<16, has_indices>(data, indices, begin, end, result, segment, column, sizes);
  for (; column + 4 <= sizes.columns; column += 4)
    reduce<4, has_indices>(data, indices, begin, end, result, segment, column, sizes);
  for (; column < sizes.columns; ++column)
    reduce<1, has_indices>(data, indices, begin, end, result, segment, column, sizes);
}

// The segments that begin in rows `first` to `last`, each with those before it that have no rows.
// The end counts as a row of the segment after the last.
template <bool has_indices, typename T, typename Id>
inline void scan_segments(const T* data, const void* indices, const Id* ids, T* result,
                          std::int64_t first, std::int64_t last, const SegmentSizes& sizes) {
  std::int64_t before = -1, i = first;
  if (first > 0) {
    before = ids[first - 1];
    while (i < last && ids[i] == before) ++i;
    if (i == last) return;
  }
  // Segment ids that do not ascend or are out of range are reported by segment_check; nothing is
  // written for them.
  while (true) {
    const std::int64_t segment = i == sizes.rows ? sizes.segments : std::int64_t(ids[i]);
    for (std::int64_t s = sycl::max(before, std::int64_t(-1)) + 1;
         s < sycl::min(segment, sizes.segments); ++s)
      reduce_all_columns<has_indices>(data, indices, 0, 0, result, s, sizes);
    if (i == sizes.rows) return;
    const std::int64_t begin = i;
    while (i < sizes.rows && ids[i] == segment) ++i;
    if (segment >= 0 && segment < sizes.segments)
      reduce_all_columns<has_indices>(data, indices, begin, i, result, segment, sizes);
    before = segment;
    if (i >= last && i < sizes.rows) return;
  }
}

// Whether a number is smaller than the one before it.
template <typename Id>
inline bool descends(const Id* ids, std::int64_t first, std::int64_t last) {
  constexpr int kWidth = 16;
  std::int64_t i = sycl::max(first, std::int64_t(1));
  onexpu::vector<Id, kWidth> found = 0;
  for (; i + kWidth <= last; i += kWidth)
    found |= onexpu::load<Id, kWidth>(ids + i) < onexpu::load<Id, kWidth>(ids + i - 1);
  bool result = false;
  for (int lane = 0; lane < kWidth; ++lane) result |= found[lane] != 0;
  for (; i < last; ++i) result |= ids[i] < ids[i - 1];
  return result;
}

// Whether one of the indices is not below `bound`, or negative.
template <typename Id>
inline bool leaves(const Id* indices, std::int64_t first, std::int64_t last, std::int64_t bound) {
  constexpr int kWidth = 16;
  // Indices of 32 bits can be below no more rows than there are.
  const Id end = Id(sycl::min(bound, std::int64_t(std::numeric_limits<Id>::max())));
  const bool all_are_below = end < bound;
  std::int64_t i = first;
  onexpu::vector<Id, kWidth> found = 0;
  for (; i + kWidth <= last; i += kWidth) {
    const auto here = onexpu::load<Id, kWidth>(indices + i);
    found |= here < Id(0);
    if (!all_are_below) found |= here >= end;
  }
  bool result = false;
  for (int lane = 0; lane < kWidth; ++lane) result |= found[lane] != 0;
  for (; i < last; ++i) result |= indices[i] < 0 || indices[i] >= bound;
  return result;
}

}  // namespace

// Verdict: whether a number is smaller than the one before, whether an index is outside, the first
// and the last number. The first two are zero before, unless one work-item reads all rows.
ONEXPU_KERNEL void segment_check(const void* ids, const void* indices, std::int64_t* verdict,
                                 SegmentSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.rows);
  const bool is_descending = sizes.ids_are_wide
                                 ? descends(static_cast<const std::int64_t*>(ids), first, last)
                                 : descends(static_cast<const std::int32_t*>(ids), first, last);
  bool is_outside = false;
  if (sizes.has_indices) {
    is_outside =
        sizes.indices_are_wide
            ? leaves(static_cast<const std::int64_t*>(indices), first, last, sizes.data_rows)
            : leaves(static_cast<const std::int32_t*>(indices), first, last, sizes.data_rows);
  }
  const bool is_alone = sizes.chunk >= sizes.rows;
  // All who write write the same.
  if (is_descending || is_alone) verdict[0] = is_descending;
  if (is_outside || is_alone) verdict[1] = is_outside;
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
    // Segment ids that do not ascend or are out of range are reported by segment_check; nothing is
    // written for them.
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
  const std::int64_t segment = id / sizes.columns, column = id - segment * sizes.columns;
  const std::int64_t begin = begins[segment], end = begins[segment + 1];
  if (sizes.has_indices) {
    reduce<1, true>(data, indices, begin, end, result, segment, column, sizes);
  } else {
    reduce<1, false>(data, indices, begin, end, result, segment, column, sizes);
  }
}

// A CPU's: a work-item per chunk of rows.
template <typename T>
ONEXPU_KERNEL void segment_reduce_rows(const T* data, const void* indices, const void* ids,
                                       T* result, SegmentSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.rows);
  const auto scan = [&](auto has_indices, const auto* numbers) {
    scan_segments<decltype(has_indices)::value>(data, indices, numbers, result, first, last, sizes);
  };
  const auto scan_ids = [&](auto has_indices) {
    if (sizes.ids_are_wide) {
      scan(has_indices, static_cast<const std::int64_t*>(ids));
    } else {
      scan(has_indices, static_cast<const std::int32_t*>(ids));
    }
  };
  if (sizes.has_indices) {
    scan_ids(std::true_type());
  } else {
    scan_ids(std::false_type());
  }
}
