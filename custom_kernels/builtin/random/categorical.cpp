// Samples from categorical distributions, given by logits. Kernel source: built by sycl_kernels,
// see BUILD.
//
// A sample is where a uniform number falls among the sums of the classes' weights. The weights are
// whole numbers of 64 bits, as devices may have no double: sums in float would lose a class that
// has less than 1e-7 of the whole. Logits in double are weighed in double. Rows are cut into chunks
// of classes, with sums of their own, and these into groups: what is kept are sums up to the ends
// of groups, which fit into a cache where those of all classes would not, and the weights of the
// group that a sample falls into are computed again.

struct CategoricalSizes {
  std::int64_t rows, classes, samples;
  std::int64_t chunk, chunks;     // classes of a chunk, whole groups; chunks of a row
  std::int64_t samples_per_item;  // samples of a work-item
  std::int32_t samples_are_wide;  // s64, else s32
  float scale;                    // of the greatest weight, a power of two
};

namespace {

// What logits of a type are weighed in.
template <typename T>
using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Less than all finite logits.
template <typename T>
constexpr Real<T> kNone = -std::numeric_limits<Real<T>>::infinity();
constexpr int kGroup = 16;

// In how many of the ascending `sums` the number is not yet reached.
inline std::int64_t not_above(const std::uint64_t* sums, std::int64_t count, std::uint64_t number) {
  std::int64_t low = 0;
  while (count > 0) {
    const std::int64_t half = count / 2;
    const bool passed = sums[low + half] <= number;
    low = passed ? low + half + 1 : low;
    count = passed ? count - half - 1 : half;
  }
  return low;
}

// Logits side by side; infinities and what is not a number become kNone.
template <int width, typename T>
inline auto finite(const T* logits) {
  using Vector = onexpu::vector<Real<T>, width>;
  const Vector some = onexpu::load<Real<T>, width>(logits), none = kNone<T>;
  const Vector size = some < Real<T>(0) ? -some : some;
  return size <= std::numeric_limits<Real<T>>::max() ? some : none;
}

// exp(logit - maximum), scaled, in whole numbers that are less than 2^63.
template <int width, typename T>
inline auto weigh(const T* logits, Real<T> maximum, Real<T> scale) {
  using Vector = onexpu::vector<Real<T>, width>;
  constexpr Real<T> zero = 0;
  const Vector exponents = finite<width>(logits) - maximum;
  // Where no logit is finite they are NaN, and weigh nothing.
  if constexpr (width == 1) {
    return std::int64_t(exponents <= zero ? sycl::exp(exponents) * scale : zero);
  } else {
    const auto exponentials =
        sycl::bit_cast<Vector>(sycl::exp(sycl::bit_cast<sycl::vec<Real<T>, width>>(exponents)));
    const Vector weights = exponents <= zero ? exponentials * scale : zero;
    return __builtin_convertvector(weights, onexpu::vector<std::int64_t, width>);
  }
}

// The weights of the `count` classes of a group, and zeros.
template <typename T>
inline onexpu::vector<std::int64_t, kGroup> weigh_group(const T* logits, int count, Real<T> maximum,
                                                        Real<T> scale) {
  if (count == kGroup) return weigh<kGroup>(logits, maximum, scale);
  onexpu::vector<std::int64_t, kGroup> weights = 0;
  for (int i = 0; i < count; ++i) weights[i] = weigh<1>(logits + i, maximum, scale);
  return weights;
}

// A number in [0, 1) of two words, in parts of 2^-64: the 52 bits of TensorFlow's double.
inline std::uint64_t fraction(const std::uint32_t* words) {
  return std::uint64_t(words[0]) << 44 | std::uint64_t(words[1]) << 12;
}

}  // namespace

// A work-item per row and chunk, in all but the last.
template <typename T>
ONEXPU_KERNEL void categorical_maximum(const T* logits, Real<T>* maxima, CategoricalSizes sizes) {
  const std::int64_t row = std::int64_t(onexpu::global_id()) / sizes.chunks;
  const std::int64_t first = std::int64_t(onexpu::global_id()) % sizes.chunks * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.classes);
  const T* const own = logits + row * sizes.classes;
  std::int64_t i = first;
  onexpu::vector<Real<T>, 8> maximums = kNone<T>;
  for (; i + 8 <= last; i += 8) {
    const auto some = finite<8>(own + i);
    maximums = maximums < some ? some : maximums;
  }
  Real<T> maximum = kNone<T>;
  for (int c = 0; c < 8; ++c) maximum = sycl::fmax(maximum, maximums[c]);
  for (; i < last; ++i) maximum = sycl::fmax(maximum, finite<1>(own + i));
  maxima[onexpu::global_id()] = maximum;
}

// Sums of the weights within a chunk, up to the ends of its groups: [rows, chunks, groups of a
// chunk]. `totals` are those of whole chunks.
template <typename T>
ONEXPU_KERNEL void categorical_sums(const T* logits, const Real<T>* maxima, std::uint64_t* sums,
                                    std::uint64_t* totals, CategoricalSizes sizes) {
  const std::int64_t row = std::int64_t(onexpu::global_id()) / sizes.chunks;
  const std::int64_t first = std::int64_t(onexpu::global_id()) % sizes.chunks * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.classes);
  Real<T> maximum = kNone<T>;
  for (std::int64_t i = 0; i < sizes.chunks; ++i)
    maximum = sycl::fmax(maximum, maxima[row * sizes.chunks + i]);
  const T* const own = logits + row * sizes.classes;
  std::uint64_t* ends = sums + std::int64_t(onexpu::global_id()) * (sizes.chunk / kGroup);
  std::uint64_t sum = 0;
  for (std::int64_t i = first; i < last; i += kGroup) {
    const int count = int(sycl::min(last - i, std::int64_t(kGroup)));
    const auto weights = weigh_group(own + i, count, maximum, sizes.scale);
    std::int64_t of_group = 0;
    for (int c = 0; c < kGroup; ++c) of_group += weights[c];
    *ends++ = sum += std::uint64_t(of_group);
  }
  totals[onexpu::global_id()] = sum;
}

// A work-item per row: totals become the sums up to the ends of the chunks, and the row's maximum
// is the first of its maxima.
template <typename T>
ONEXPU_KERNEL void categorical_totals(std::uint64_t* totals, Real<T>* maxima,
                                      CategoricalSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunks;
  std::uint64_t sum = 0;
  Real<T> maximum = kNone<T>;
  for (std::int64_t i = first; i < first + sizes.chunks; ++i) {
    totals[i] = sum += totals[i];
    maximum = sycl::fmax(maximum, maxima[i]);
  }
  maxima[first] = maximum;
}

// A work-item per `samples_per_item` samples, each with two random words.
template <typename T>
ONEXPU_KERNEL void categorical_draw(const std::uint32_t* words, const T* logits,
                                    const Real<T>* maxima, const std::uint64_t* sums,
                                    const std::uint64_t* totals, void* samples,
                                    CategoricalSizes sizes) {
  const std::int64_t begin = std::int64_t(onexpu::global_id()) * sizes.samples_per_item;
  const std::int64_t end = sycl::min(begin + sizes.samples_per_item, sizes.rows * sizes.samples);
  const std::int64_t groups = sizes.chunk / kGroup;
  for (std::int64_t id = begin; id < end; ++id) {
    const std::int64_t row = id / sizes.samples;
    const std::uint64_t* const chunk_ends = totals + row * sizes.chunks;
    const std::uint64_t all = chunk_ends[sizes.chunks - 1];
    std::int64_t drawn = sizes.classes;
    if (all > 0) {
      std::uint64_t number = sycl::mul_hi(fraction(words + 2 * id), all);  // below `all`
      const std::int64_t chunk = not_above(chunk_ends, sizes.chunks, number);
      if (chunk > 0) number -= chunk_ends[chunk - 1];
      const std::uint64_t* const group_ends = sums + (row * sizes.chunks + chunk) * groups;
      const std::int64_t of_chunk = sycl::min(sizes.chunk, sizes.classes - chunk * sizes.chunk);
      const std::int64_t group = not_above(group_ends, (of_chunk + kGroup - 1) / kGroup, number);
      if (group > 0) number -= group_ends[group - 1];
      const std::int64_t first = chunk * sizes.chunk + group * kGroup;
      const int count = int(sycl::min(sizes.classes - first, std::int64_t(kGroup)));
      const auto weights = weigh_group(logits + row * sizes.classes + first, count,
                                       maxima[row * sizes.chunks], sizes.scale);
      int passed = 0;  // no branches, which would depend on random numbers
      std::uint64_t sum = 0;
      for (int c = 0; c < kGroup; ++c) {
        sum += std::uint64_t(weights[c]);
        passed += sum <= number;
      }
      drawn = first + sycl::min(passed, count - 1);
    }
    if (sizes.samples_are_wide) {
      static_cast<std::int64_t*>(samples)[id] = drawn;
    } else {
      static_cast<std::int32_t*>(samples)[id] = std::int32_t(drawn);
    }
  }
}
