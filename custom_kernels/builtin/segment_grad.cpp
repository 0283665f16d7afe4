// Gradients of segment reductions of rows that indices pick. Kernel source: built by sycl_kernels,
// see BUILD.
//
// The indices are sorted, stably: those of one row are a run, which one work-item sums up. Nothing
// but counting is atomic: results do not depend on the order of work-items.

struct SegmentGradSizes {
  std::int64_t elements, rows, segments, columns;
  std::int64_t piece, pieces;                        // columns of a work-item, pieces of a row
  std::int32_t indices_are_wide, segments_are_wide;  // s64, else s32
  std::int32_t combiner;                             // as segment_grad.cc numbers them
  std::int32_t padding;
};

namespace {

enum Combiner { kSum, kMean, kSqrtN };

inline std::int64_t read(const void* numbers, std::int32_t are_wide, std::int64_t i) {
  return are_wide ? static_cast<const std::int64_t*>(numbers)[i]
                  : static_cast<const std::int32_t*>(numbers)[i];
}

}  // namespace

// What is outside comes last. `counts` [segments] and `verdict` are zero before.
ONEXPU_KERNEL void segment_grad_rows(const void* indices, const void* segments,
                                     std::uint64_t* numbers, std::int32_t* counts,
                                     std::int64_t* verdict, SegmentGradSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  const std::int64_t row = read(indices, sizes.indices_are_wide, i);
  const std::int64_t segment = read(segments, sizes.segments_are_wide, i);
  const bool has_segment = segment >= 0 && segment < sizes.segments;
  const bool is_inside = has_segment && row >= 0 && row < sizes.rows;
  numbers[i] = std::uint64_t(is_inside ? row : sizes.rows);
  if (!is_inside) verdict[1] = 1;  // all who write write the same
  if (has_segment && sizes.combiner != kSum) {
    sycl::atomic_ref<std::int32_t, sycl::memory_order::relaxed, sycl::memory_scope::device>(
        counts[segment])
        .fetch_add(1);
  }
}

// A work-item per run, or as many as there may be, and piece of a row.
template <typename T>
ONEXPU_KERNEL void segment_grad(const T* slopes, const void* segments, const std::int32_t* counts,
                                const std::uint64_t* numbers, const std::uint32_t* places,
                                const std::uint32_t* run_begins, const std::int64_t* verdict,
                                T* result, void* rows, SegmentGradSizes sizes) {
  using C = onexpu::wide<T>;
  constexpr int kAtOnce = 16;  // sums in registers
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t run = sizes.pieces == 1 ? id : id / sizes.pieces;
  if (run >= verdict[0]) return;
  const std::int64_t begin = run_begins[run], end = run_begins[run + 1];
  if (numbers[begin] == std::uint64_t(sizes.rows)) return;
  const std::int64_t first = (id - run * sizes.pieces) * sizes.piece;
  const std::int64_t last = sycl::min(first + sizes.piece, sizes.columns);
  if (first == 0) {
    if (sizes.indices_are_wide) {
      static_cast<std::int64_t*>(rows)[run] = std::int64_t(numbers[begin]);
    } else {
      static_cast<std::int32_t*>(rows)[run] = std::int32_t(numbers[begin]);
    }
  }
  for (std::int64_t column = first; column < last; column += kAtOnce) {
    const int width = int(sycl::min(last - column, std::int64_t(kAtOnce)));
    C sums[kAtOnce] = {};
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t segment = read(segments, sizes.segments_are_wide, places[i]);
      C scale = C(1);
      if (sizes.combiner == kMean) scale = C(1) / C(counts[segment]);
      if (sizes.combiner == kSqrtN) scale = C(1) / sycl::sqrt(C(counts[segment]));
      const T* const from = slopes + segment * sizes.columns + column;
      for (int c = 0; c < width; ++c) sums[c] += C(from[c]) * scale;
    }
    for (int c = 0; c < width; ++c) result[run * sizes.columns + column + c] = T(sums[c]);
  }
}
