// Counts of values by bins. Kernel source: built by sycl_kernels, see BUILD.

struct HistogramSizes {
  std::int64_t elements, bins, chunk;
  std::int64_t rows;  // of all counts
  std::int32_t counts_are_wide, padding;
};

// Rows of counts of a chunk, as a processor waits for the counter that it has just written.
constexpr int kRows = 2;

namespace {

// How many edges are not above the value, which is a number.
template <typename T>
inline std::int64_t search(const T* edges, std::int64_t count, T value) {
  std::int64_t low = 0, high = count;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (edges[middle] <= value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Bins are about as wide as each other: where a value would be if they were exactly. What is not a
// number is anywhere.
template <typename T>
struct Guess {
  float first, per_step, last;

  Guess(const T* edges, std::int64_t count) {
    const float distance = count > 1 ? float(edges[count - 1]) - float(edges[0]) : 0.0f;
    first = count > 0 ? float(edges[0]) : 0.0f;
    per_step = distance > 0.0f ? float(count - 1) / distance : 0.0f;
    last = float(count);
  }

  template <int width>
  auto of(const T* values) const {
    using Vector = onexpu::vector<float, width>;
    const Vector bins = (onexpu::load<float, width>(values) - first) * per_step + 1.0f;
    const Vector none = 0.0f, all = last;
    const Vector at_least = bins > 0.0f ? bins : none;
    const Vector inside = at_least < last ? at_least : all;
    if constexpr (width == 1) {
      return std::int32_t(inside);
    } else {
      return __builtin_convertvector(inside, onexpu::vector<std::int32_t, width>);
    }
  }
};

// The bin of a value that may be in `guessed`; the one after the last is for what is no number.
template <typename T>
inline std::int64_t bin_of(T value, std::int64_t guessed, const T* edges, std::int64_t count) {
  const bool is_right = value == value && (guessed == count || value < edges[guessed]) &&
                        (guessed == 0 || value >= edges[guessed - 1]);
  if (is_right) return guessed;
  return value == value ? search(edges, count, value) : count + 1;
}

}  // namespace

// A work-item per chunk of values. `edges` ascend: where each bin but the first begins. The rows of
// `counts` have the chunk's number of values in each bin, and of those that are not a number.
template <typename T>
ONEXPU_KERNEL void histogram_count(const T* values, const T* edges, std::uint32_t* counts,
                                   HistogramSizes sizes) {
  constexpr int kAtOnce = 8;
  const std::int64_t chunk = std::int64_t(onexpu::global_id());
  const std::int64_t edge_count = sizes.bins - 1, row = sizes.bins + 1;
  std::uint32_t* const own = counts + chunk * kRows * row;
  for (std::int64_t bin = 0; bin < kRows * row; ++bin) own[bin] = 0;
  const std::int64_t first = chunk * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  const Guess<T> guess(edges, edge_count);
  std::int64_t i = first;
  for (; i + kAtOnce <= last; i += kAtOnce) {
    const auto bins = guess.template of<kAtOnce>(values + i);
    for (int c = 0; c < kAtOnce; ++c)
      ++own[c % kRows * row + bin_of(values[i + c], bins[c], edges, edge_count)];
  }
  for (; i < last; ++i)
    ++own[bin_of(values[i], guess.template of<1>(values + i), edges, edge_count)];
}

// A work-item per bin, and one for what is not a number.
ONEXPU_KERNEL void histogram_sum(const std::uint32_t* counts, void* histogram,
                                 std::int64_t* not_numbers, HistogramSizes sizes) {
  const std::int64_t bin = std::int64_t(onexpu::global_id());
  std::int64_t sum = 0;
  for (std::int64_t row = 0; row < sizes.rows; ++row) sum += counts[row * (sizes.bins + 1) + bin];
  if (bin == sizes.bins) {
    *not_numbers = sum;
  } else if (sizes.counts_are_wide) {
    static_cast<std::int64_t*>(histogram)[bin] = sum;
  } else {
    static_cast<std::int32_t*>(histogram)[bin] = std::int32_t(sum);
  }
}
