// Samples from categorical distributions, given by logits. Kernel source: built by sycl_kernels,
// see BUILD.
//
// A sample is where a uniform number falls among the sums of the classes' weights. Rows are cut
// into chunks of classes, with sums of their own: they are short, so that float is wide enough.

struct CategoricalSizes {
  std::int64_t rows, classes, samples;
  std::int64_t chunk, chunks;     // classes of a chunk, chunks of a row
  std::int32_t samples_are_wide;  // s64, else s32
  std::int32_t padding;
};

namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

// In how many of the ascending `sums` the number is not yet reached.
inline std::int64_t not_above(const float* sums, std::int64_t count, float number) {
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
ONEXPU_KERNEL void categorical_sums(const T* logits, const float* maxima, float* sums,
                                    float* totals, CategoricalSizes sizes) {
  const std::int64_t row = std::int64_t(onexpu::global_id()) / sizes.chunks;
  const std::int64_t first = std::int64_t(onexpu::global_id()) % sizes.chunks * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.classes);
  float maximum = kNone;
  for (std::int64_t i = 0; i < sizes.chunks; ++i)
    maximum = sycl::fmax(maximum, maxima[row * sizes.chunks + i]);
  float* const own = sums + row * sizes.classes;
  for (std::int64_t i = first; i < last; ++i) {
    const float logit = float(logits[row * sizes.classes + i]);
    own[i] = sycl::isfinite(logit) ? sycl::exp(logit - maximum) : 0.0f;
  }
  float sum = 0.0f;
  for (std::int64_t i = first; i < last; ++i) own[i] = sum += own[i];
  totals[onexpu::global_id()] = sum;
}

// A work-item per row: totals become the sums up to the ends of the chunks.
ONEXPU_KERNEL void categorical_totals(float* totals, CategoricalSizes sizes) {
  float* const own = totals + std::int64_t(onexpu::global_id()) * sizes.chunks;
  float sum = 0.0f;
  for (std::int64_t i = 0; i < sizes.chunks; ++i) own[i] = sum += own[i];
}

// A work-item per sample.
ONEXPU_KERNEL void categorical_draw(const float* uniform, const float* sums, const float* totals,
                                    void* samples, CategoricalSizes sizes) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t row = id / sizes.samples;
  const float* const chunk_ends = totals + row * sizes.chunks;
  const float all = chunk_ends[sizes.chunks - 1];
  std::int64_t drawn = sizes.classes;
  if (all > 0.0f) {
    const float number = uniform[id] * all;
    // A product that is rounded up to `all` belongs to the last class that has any weight.
    std::int64_t chunk = not_above(chunk_ends, sizes.chunks, number);
    const bool is_last = chunk == sizes.chunks;
    if (is_last) {
      chunk = 0;
      while (chunk_ends[chunk] < all) ++chunk;
    }
    const std::int64_t first = chunk * sizes.chunk;
    const std::int64_t count = sycl::min(sizes.chunk, sizes.classes - first);
    const float* const own = sums + row * sizes.classes + first;
    const float before = chunk == 0 ? 0.0f : chunk_ends[chunk - 1];
    std::int64_t place = is_last ? count : not_above(own, count, number - before);
    if (place == count) {
      place = 0;
      while (own[place] < own[count - 1]) ++place;
    }
    drawn = first + place;
  }
  if (sizes.samples_are_wide) {
    static_cast<std::int64_t*>(samples)[id] = drawn;
  } else {
    static_cast<std::int32_t*>(samples)[id] = std::int32_t(drawn);
  }
}
