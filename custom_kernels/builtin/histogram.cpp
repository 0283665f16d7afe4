// Counts of values by bins. Kernel source: built by sycl_kernels, see BUILD.

struct HistogramSizes {
  std::int64_t elements, bins, chunk, chunks;
  std::int32_t counts_are_wide, padding;
};

// A work-item per chunk of values. `edges` ascend: where each bin but the first begins. A row of
// `counts` has the chunk's number of values in each bin, and of those that are not a number.
template <typename T>
ONEXPU_KERNEL void histogram_count(const T* values, const T* edges, std::uint32_t* counts,
                                   HistogramSizes sizes) {
  const std::int64_t chunk = std::int64_t(onexpu::global_id());
  std::uint32_t* row = counts + chunk * (sizes.bins + 1);
  for (std::int64_t bin = 0; bin <= sizes.bins; ++bin) row[bin] = 0;
  const std::int64_t first = chunk * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  for (std::int64_t i = first; i < last; ++i) {
    const T value = values[i];
    if (value != value) {
      ++row[sizes.bins];
      continue;
    }
    std::int64_t bin = 0, after = sizes.bins;
    while (bin + 1 < after) {
      const std::int64_t middle = (bin + after) / 2;
      if (edges[middle - 1] <= value) {
        bin = middle;
      } else {
        after = middle;
      }
    }
    ++row[bin];
  }
}

// A work-item per bin, and one for what is not a number.
ONEXPU_KERNEL void histogram_sum(const std::uint32_t* counts, void* histogram,
                                 std::int64_t* not_numbers, HistogramSizes sizes) {
  const std::int64_t bin = std::int64_t(onexpu::global_id());
  std::int64_t sum = 0;
  for (std::int64_t chunk = 0; chunk < sizes.chunks; ++chunk)
    sum += counts[chunk * (sizes.bins + 1) + bin];
  if (bin == sizes.bins) {
    *not_numbers = sum;
  } else if (sizes.counts_are_wide) {
    static_cast<std::int64_t*>(histogram)[bin] = sum;
  } else {
    static_cast<std::int32_t*>(histogram)[bin] = std::int32_t(sum);
  }
}
