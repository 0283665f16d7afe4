// Where the largest or smallest element along a dimension is. Kernel source: built by sycl_kernels,
// see BUILD.

// As arg_extreme.cc fills it.
struct ArgExtremeSizes {
  std::int64_t length, columns;
  std::int64_t count;  // of results: rows * columns
  std::int64_t chunk;  // of a work-item
};

// The array has rows of `length` lines of `columns` elements. Each column of a row has a result:
// the first place of what is above the lowest finite value and all before, or 0. So NaN is never
// found, as in TensorFlow's kernels.
template <typename T, typename Index, bool is_max>
ONEXPU_KERNEL void arg_extreme(const T* data, Index* result, ArgExtremeSizes sizes) {
  using S = onexpu::wide<T>;
  const std::int64_t begin = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t end = sycl::min(begin + sizes.chunk, sizes.count);
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t row = sizes.columns == 1 ? i : i / sizes.columns;
    const T* const column = data + row * sizes.length * sizes.columns + (i - row * sizes.columns);
    S extreme = is_max ? std::numeric_limits<S>::lowest() : std::numeric_limits<S>::max();
    std::int64_t place = 0;
    for (std::int64_t line = 0; line < sizes.length; ++line) {
      const S value = S(column[line * sizes.columns]);
      const bool is_better = is_max ? value > extreme : value < extreme;
      extreme = is_better ? value : extreme;
      place = is_better ? line : place;
    }
    result[i] = Index(place);
  }
}
