// Samples from categorical distributions, given by logits. Kernel source: built by sycl_kernels,
// see BUILD.
//
// A sample is where a uniform number falls among the sums of the classes' weights. The weights are
// whole numbers of 64 bits, as devices may have no double: sums in float would lose a class that
// has less than 1e-7 of the whole. Rows are cut into chunks of classes, with sums of their own.

struct CategoricalSizes {
  std::int64_t rows, classes, samples;
  std::int64_t chunk, chunks;     // classes of a chunk, chunks of a row
  std::int32_t samples_are_wide;  // s64, else s32
  float scale;                    // of the greatest weight
};

namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

// In how many of the ascending `sums` the number is not yet reached.
inline std::int64_t not_above(const std::uint64_t* sums, std::int64_t count, std::uint64_t number) {
  std::int64_t low = 0, high = count;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (sums[middle] <= number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The 23 random bits of a number in [0, 1).
inline std::uint64_t bits(float uniform) { return std::uint64_t(uniform * float(1 << 23)); }

}  // namespace

// A work-item per row and chunk, in all but the last.
template <typename T>
ONEXPU_KERNEL void categorical_maximum(const T* logits, float* maxima, CategoricalSizes sizes) {
  const std::int64_t row = std::int64_t(onexpu::global_id()) / sizes.chunks;
  const std::int64_t first = std::int64_t(onexpu::global_id()) % sizes.chunks * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.classes);
  float maximum = kNone;
  for (std::int64_t i = first; i < last; ++i) {
    const float logit = float(logits[row * sizes.classes + i]);
    if (sycl::isfinite(logit)) maximum = sycl::fmax(maximum, logit);
  }
  maxima[onexpu::global_id()] = maximum;
}

// Sums of the weights within a chunk. `totals` are those of whole chunks.
template <typename T>
ONEXPU_KERNEL void categorical_sums(const T* logits, const float* maxima, std::uint64_t* sums,
                                    std::uint64_t* totals, CategoricalSizes sizes) {
  const std::int64_t row = std::int64_t(onexpu::global_id()) / sizes.chunks;
  const std::int64_t first = std::int64_t(onexpu::global_id()) % sizes.chunks * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.classes);
  float maximum = kNone;
  for (std::int64_t i = 0; i < sizes.chunks; ++i)
    maximum = sycl::fmax(maximum, maxima[row * sizes.chunks + i]);
  std::uint64_t* const own = sums + row * sizes.classes;
  for (std::int64_t i = first; i < last; ++i) {
    const float logit = float(logits[row * sizes.classes + i]);
    const float weight = sycl::isfinite(logit) ? sycl::exp(logit - maximum) : 0.0f;
    own[i] = std::uint64_t(weight * sizes.scale);
  }
  std::uint64_t sum = 0;
  for (std::int64_t i = first; i < last; ++i) own[i] = sum += own[i];
  totals[onexpu::global_id()] = sum;
}

// A work-item per row: totals become the sums up to the ends of the chunks.
ONEXPU_KERNEL void categorical_totals(std::uint64_t* totals, CategoricalSizes sizes) {
  std::uint64_t* const own = totals + std::int64_t(onexpu::global_id()) * sizes.chunks;
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < sizes.chunks; ++i) own[i] = sum += own[i];
}

// A work-item per sample, with two uniform numbers.
ONEXPU_KERNEL void categorical_draw(const float* uniform, const std::uint64_t* sums,
                                    const std::uint64_t* totals, void* samples,
                                    CategoricalSizes sizes) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t row = id / sizes.samples;
  const std::uint64_t* const chunk_ends = totals + row * sizes.chunks;
  const std::uint64_t all = chunk_ends[sizes.chunks - 1];
  std::int64_t drawn = sizes.classes;
  if (all > 0) {
    const std::uint64_t random = bits(uniform[2 * id]) << 41 | bits(uniform[2 * id + 1]) << 18;
    const std::uint64_t number = sycl::mul_hi(random, all);  // below `all`
    const std::int64_t chunk = not_above(chunk_ends, sizes.chunks, number);
    const std::int64_t first = chunk * sizes.chunk;
    const std::int64_t count = sycl::min(sizes.chunk, sizes.classes - first);
    const std::uint64_t before = chunk == 0 ? 0 : chunk_ends[chunk - 1];
    drawn = first + not_above(sums + row * sizes.classes + first, count, number - before);
  }
  if (sizes.samples_are_wide) {
    static_cast<std::int64_t*>(samples)[id] = drawn;
  } else {
    static_cast<std::int32_t*>(samples)[id] = std::int32_t(drawn);
  }
}
