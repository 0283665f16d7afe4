// Softmax, its logarithm and the cross-entropy of labels, row by row. Kernel source: built by
// sycl_kernels, see BUILD.
//
// A row belongs to a work-group: on a CPU to one work-item, which goes along it in vectors, and on
// a GPU to many, which share sums. exp(x - max) never overflows.

// As softmax.cc fills it.
struct SoftmaxSizes {
  std::int64_t rows, columns;
  std::int64_t chunk;  // rows of a CPU's work-item
};

namespace {

constexpr int kWidth = 16;

// Of all work-items of the group.
template <typename S>
inline S group_max(sycl::group<1> group, S value) {
  // NaN stays: the group's maximum ignores it.
  const bool has_nan = sycl::any_of_group(group, value != value);
  const S maximum = sycl::reduce_over_group(group, value, sycl::maximum<S>());
  return has_nan ? std::numeric_limits<S>::quiet_NaN() : maximum;
}

template <int width, typename S>
inline onexpu::vector<S, width> exponential(onexpu::vector<S, width> x) {
  if constexpr (width == 1) {
    return sycl::exp(x);
  } else {
    // The same memory as SYCL's vectors, which have the function.
    using Vec = sycl::vec<S, width>;
    return __builtin_bit_cast(onexpu::vector<S, width>, sycl::exp(__builtin_bit_cast(Vec, x)));
  }
}

template <typename V>
inline V larger(V a, V b) {
  return a < b || b != b ? b : a;
}

// The row's maximum and the sum of exp(x - maximum), for every work-item of the group.
template <bool is_shared, typename S>
struct RowSums {
  S maximum, sum;

  template <typename T>
  static RowSums Of(const T* row, std::int64_t columns) {
    if constexpr (is_shared) {
      return OfGroup(row, columns);
    } else {
      return OfOne(row, columns);
    }
  }

 private:
  template <typename T>
  static RowSums OfGroup(const T* row, std::int64_t columns) {
    const auto group = onexpu::item().get_group();
    const std::int64_t first = group.get_local_linear_id();
    const std::int64_t step = group.get_local_linear_range();
    S maximum = -std::numeric_limits<S>::infinity(), sum = 0;
    for (std::int64_t i = first; i < columns; i += step) maximum = larger(maximum, S(row[i]));
    maximum = group_max(group, maximum);
    for (std::int64_t i = first; i < columns; i += step) sum += sycl::exp(S(row[i]) - maximum);
    return {maximum, sycl::reduce_over_group(group, sum, sycl::plus<S>())};
  }

  template <typename T>
  static RowSums OfOne(const T* row, std::int64_t columns) {
    using V = onexpu::vector<S, kWidth>;
    S maximum = -std::numeric_limits<S>::infinity(), sum = 0;
    std::int64_t i = 0;
    if (columns >= kWidth) {
      V lanes = maximum;
      for (; i + kWidth <= columns; i += kWidth)
        lanes = larger(lanes, V(onexpu::load<S, kWidth>(row + i)));
      for (int lane = 0; lane < kWidth; ++lane) maximum = larger(maximum, S(lanes[lane]));
    }
    for (; i < columns; ++i) maximum = larger(maximum, S(row[i]));
    i = 0;
    if (columns >= kWidth) {
      V lanes = S(0);
      for (; i + kWidth <= columns; i += kWidth)
        lanes += exponential<kWidth, S>(onexpu::load<S, kWidth>(row + i) - maximum);
      for (int lane = 0; lane < kWidth; ++lane) sum += lanes[lane];
    }
    for (; i < columns; ++i) sum += sycl::exp(S(row[i]) - maximum);
    return {maximum, sum};
  }
};

// Calls `body(row)` for the rows of this work-item or work-group.
template <bool is_shared, typename Body>
inline void for_each_row(const SoftmaxSizes& sizes, Body body) {
  if constexpr (is_shared) {
    body(std::int64_t(onexpu::item().get_group(0)));
  } else {
    const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
    const std::int64_t last = sycl::min(first + sizes.chunk, sizes.rows);
    for (std::int64_t row = first; row < last; ++row) body(row);
  }
}

// Calls `write(i, x)` with the row's elements as S, alone or as vectors.
template <bool is_shared, typename S, typename T, typename Write>
inline void for_each_element(const T* row, std::int64_t columns, Write write) {
  std::int64_t i = 0, step = 1;
  if constexpr (is_shared) {
    const auto group = onexpu::item().get_group();
    i = group.get_local_linear_id();
    step = group.get_local_linear_range();
  } else {
    for (; i + kWidth <= columns; i += kWidth)
      write(std::integral_constant<int, kWidth>(), i, onexpu::load<S, kWidth>(row + i));
  }
  for (; i < columns; i += step) write(std::integral_constant<int, 1>(), i, S(row[i]));
}

}  // namespace

template <typename T, bool is_shared, bool is_logarithm>
ONEXPU_KERNEL void softmax(const T* logits, T* result, SoftmaxSizes sizes) {
  using S = onexpu::wide<T>;
  for_each_row<is_shared>(sizes, [&](std::int64_t row) {
    const T* const from = logits + row * sizes.columns;
    T* const to = result + row * sizes.columns;
    const auto sums = RowSums<is_shared, S>::Of(from, sizes.columns);
    const S logarithm = sycl::log(sums.sum);
    for_each_element<is_shared, S>(from, sizes.columns, [&](auto width, std::int64_t i, auto x) {
      constexpr int kLanes = decltype(width)::value;
      const onexpu::vector<S, kLanes> shifted = x - sums.maximum;
      if constexpr (is_logarithm) {
        onexpu::store<S, kLanes>(shifted - logarithm, to + i);
      } else {
        onexpu::store<S, kLanes>(exponential<kLanes, S>(shifted) / sums.sum, to + i);
      }
    });
  });
}

// The cross-entropy of each row's label, and its gradient: NaN for labels that are no column.
template <typename T, typename Label, bool is_shared>
ONEXPU_KERNEL void sparse_cross_entropy(const T* logits, const Label* labels, T* losses,
                                        T* gradients, SoftmaxSizes sizes) {
  using S = onexpu::wide<T>;
  for_each_row<is_shared>(sizes, [&](std::int64_t row) {
    const T* const from = logits + row * sizes.columns;
    T* const to = gradients + row * sizes.columns;
    const std::int64_t label = labels[row];
    const bool is_column = label >= 0 && label < sizes.columns;
    const S nothing = is_column ? S(0) : std::numeric_limits<S>::quiet_NaN();
    const auto sums = RowSums<is_shared, S>::Of(from, sizes.columns);
    for_each_element<is_shared, S>(from, sizes.columns, [&](auto width, std::int64_t i, auto x) {
      constexpr int kLanes = decltype(width)::value;
      auto gradient =
          exponential<kLanes, S>(onexpu::vector<S, kLanes>(x - sums.maximum)) / sums.sum + nothing;
      const std::int64_t lane = label - i;
      if (lane >= 0 && lane < kLanes) {
        if constexpr (kLanes == 1) {
          gradient -= S(1);
        } else {
          gradient[lane] -= S(1);
        }
      }
      onexpu::store<S, kLanes>(gradient, to + i);
    });
    bool writes_loss = true;
    if constexpr (is_shared) writes_loss = onexpu::item().get_local_linear_id() == 0;
    if (writes_loss) {
      const S at_label = is_column ? S(from[label]) - sums.maximum : S(0);
      losses[row] = T(sycl::log(sums.sum) - at_label + nothing);
    }
  });
}
