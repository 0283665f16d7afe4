// Gradients of segment reductions of rows that indices pick. Kernel source: built by sycl_kernels,
// see BUILD.
//
// The indices are sorted, stably: those of one row are a run, which one work-item sums up. Nothing
// but counting is atomic: results do not depend on the order of work-items.

struct SegmentGradSizes {
  std::int64_t elements, rows, segments, columns;
  std::int64_t chunk, piece, pieces;  // runs and columns of a work-item, pieces of a row
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

// Columns side by side of the slopes of one run, scaled.
template <int width, typename T>
inline void sum_run(const T* slopes, const void* segments, const std::int32_t* counts,
                    const std::uint32_t* places, std::int64_t begin, std::int64_t end,
                    std::int64_t column, T* result, const SegmentGradSizes& sizes) {
  using C = onexpu::wide<T>;
  onexpu::vector<C, width> sums = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t segment = read(segments, sizes.segments_are_wide, places[i]);
    C scale = C(1);
    if (sizes.combiner == kMean) scale = C(1) / C(counts[segment]);
    if (sizes.combiner == kSqrtN) scale = C(1) / sycl::sqrt(C(counts[segment]));
    sums += onexpu::load<C, width>(slopes + segment * sizes.columns + column) * scale;
  }
  onexpu::store<C, width>(sums, result);
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

// A work-item per chunk of runs, or as many as there may be, and piece of a row.
template <typename T>
ONEXPU_KERNEL void segment_grad(const T* slopes, const void* segments, const std::int32_t* counts,
                                const std::uint64_t* numbers, const std::uint32_t* places,
                                const std::uint32_t* run_begins, const std::int64_t* verdict,
                                T* result, void* rows, SegmentGradSizes sizes) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t chunk = sizes.pieces == 1 ? id : id / sizes.pieces;
  const std::int64_t first = (id - chunk * sizes.pieces) * sizes.piece;
  const std::int64_t last = sycl::min(first + sizes.piece, sizes.columns);
  const std::int64_t last_run = sycl::min((chunk + 1) * sizes.chunk, verdict[0]);
  for (std::int64_t run = chunk * sizes.chunk; run < last_run; ++run) {
    const std::int64_t begin = run_begins[run], end = run_begins[run + 1];
    if (numbers[begin] == std::uint64_t(sizes.rows)) return;
    if (first == 0) {
      if (sizes.indices_are_wide) {
        static_cast<std::int64_t*>(rows)[run] = std::int64_t(numbers[begin]);
      } else {
        static_cast<std::int32_t*>(rows)[run] = std::int32_t(numbers[begin]);
      }
    }
    std::int64_t column = first;
    const auto sum = [&](auto width) {
      for (; column + decltype(width)::value <= last; column += decltype(width)::value)
        sum_run<decltype(width)::value>(slopes, segments, counts, places, begin, end, column,
                                        result + run * sizes.columns + column, sizes);
    };
    sum(std::integral_constant<int, 16>());
    sum(std::integral_constant<int, 4>());
    sum(std::integral_constant<int, 1>());
  }
}
