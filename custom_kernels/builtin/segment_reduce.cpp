// Reductions of runs of rows: TensorFlow's segment reductions, also of rows that indices pick.
// Kernel source: built by sycl_kernels, see BUILD.
//
// Segment numbers ascend along the rows, so a segment is a run of them: a first pass notes where
// each begins, a second one reduces it, a work-item per segment and column. Nothing is atomic:
// results do not depend on the order of work-items.

struct SegmentSizes {
  std::int64_t rows;  // that are reduced
  std::int64_t columns;
  std::int64_t segments;
  std::int64_t data_rows;                       // that indices pick from
  std::int64_t chunk;                           // rows that a work-item checks
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

template <typename T>
inline T combine(std::int32_t combiner, T a, T b) {
  switch (combiner) {
    case kProduct:
      return a * b;
    case kMinimum:
      return b < a ? b : a;
    case kMaximum:
      return a < b ? b : a;
    default:
      return a + b;
  }
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

// A work-item per row, and one more for the end: begins[s] is the first row of segment s or of the
// next one that has any.
ONEXPU_KERNEL void segment_begins(const void* ids, std::int64_t* begins, SegmentSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  const std::int64_t before = i == 0 ? -1 : read(ids, sizes.ids_are_wide, i - 1);
  const std::int64_t here = i == sizes.rows ? sizes.segments : read(ids, sizes.ids_are_wide, i);
  // What is not ascending or outside is somebody else's to refuse; nothing is written there.
  for (std::int64_t s = sycl::max(before, std::int64_t(-1)) + 1;
       s <= sycl::min(here, sizes.segments); ++s) {
    begins[s] = i;
  }
}

template <typename T>
ONEXPU_KERNEL void segment_reduce(const T* data, const void* indices, const std::int64_t* begins,
                                  T* result, SegmentSizes sizes) {
  using S = onexpu::wide<T>;
  const std::int64_t position = std::int64_t(onexpu::global_id());
  const std::int64_t segment = position / sizes.columns, column = position % sizes.columns;
  const std::int64_t begin = begins[segment], end = begins[segment + 1];
  // Of no rows: one is the product, everything else zero.
  S reduced = sizes.combiner == kProduct ? S(1) : S(0);
  for (std::int64_t i = begin; i < end; ++i) {
    std::int64_t row = i;
    if (sizes.has_indices) {
      row = read(indices, sizes.indices_are_wide, i);
      if (row < 0 || row >= sizes.data_rows) continue;
    }
    const S value = S(data[row * sizes.columns + column]);
    reduced = i == begin ? value : combine(sizes.combiner, reduced, value);
  }
  const std::int64_t count = end - begin;
  if (sizes.combiner == kMean && count > 1) reduced = reduced / S(count);
  if constexpr (!std::is_integral_v<T>) {
    if (sizes.combiner == kSqrtN && count > 1) reduced = reduced / sycl::sqrt(S(count));
  }
  result[position] = T(reduced);
}
