// Counts of values by bins. Kernel source: built by sycl_kernels, see BUILD.

struct HistogramSizes {
  std::int64_t elements, bins, chunk;
  std::int64_t rows;  // of all counts
  std::int32_t counts_are_wide, measures_guesses;
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

// Bins are about as wide as each other: where a value would be if they were exactly. The integer
// part is the bin. Grows with the value, and is no number where the value is none.
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
    return (onexpu::load<float, width>(values) - first) * per_step + 1.0f;
  }

  // The maximum distance of a guess from the edges around the value's bin. Guesses grow with the
  // value, so none is further off than the guess for an edge, up to rounding by the compiler.
  float error(const T* edges, std::int64_t count) const {
    float most = 0.0f;
    for (std::int64_t edge = 0; edge < count; ++edge) {
      const float distance = sycl::fabs(of<1>(edges + edge) - float(edge + 1));
      most = distance <= most ? most : distance < 1.0f ? distance : 1.0f;
    }
    return most + last * 0x1p-22f;
  }
};

template <int width>
inline bool all(onexpu::vector<std::int32_t, width> truths) {
  if constexpr (width == 1) {
    return truths != 0;
  } else {
    return all<width / 2>(truths.lo & truths.hi);
  }
}

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
  using Floats = onexpu::vector<float, kAtOnce>;
  using Integers = onexpu::vector<std::int32_t, kAtOnce>;
  const std::int64_t chunk = std::int64_t(onexpu::global_id());
  const std::int64_t edge_count = sizes.bins - 1, row = sizes.bins + 1;
  std::uint32_t* const own = counts + chunk * kRows * row;
  for (std::int64_t bin = 0; bin < kRows * row; ++bin) own[bin] = 0;
  const std::int64_t first = chunk * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  const Guess<T> guess(edges, edge_count);
  const float error = sizes.measures_guesses ? guess.error(edges, edge_count) : 1.0f;
  // In the middles of the bins at the ends, and 32-bit.
  const Floats least = 0.5f, most = sycl::min(guess.last + 0.5f, 0x1p31f - 128.0f);
  std::int64_t i = first;
  for (; i + kAtOnce <= last; i += kAtOnce) {
    const Floats place = guess.template of<kAtOnce>(values + i);
    const Floats at_least = place > least ? place : least;
    const Floats inside = at_least < most ? at_least : most;
    const Integers bins = __builtin_convertvector(inside, Integers);
    const Floats rest = inside - __builtin_convertvector(bins, Floats);
    const Integers is_sure = (rest > error) & (rest < 1.0f - error) & (place == place);
    if (all<kAtOnce>(is_sure)) {
      for (int c = 0; c < kAtOnce; ++c) ++own[c % kRows * row + bins[c]];
      continue;
    }
    for (int c = 0; c < kAtOnce; ++c) {
      const std::int64_t guessed = sycl::min(std::int64_t(bins[c]), edge_count);
      ++own[c % kRows * row + bin_of(values[i + c], guessed, edges, edge_count)];
    }
  }
  for (; i < last; ++i) ++own[bin_of(values[i], std::int64_t(0), edges, edge_count)];
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
