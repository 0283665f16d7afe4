// Runs of equal keys in a sorted array. Kernel source: built by sycl_kernels, see BUILD.

struct RunSizes {
  std::int64_t elements, chunk;
  std::uint64_t magnitude, infinity;  // of what is not equal to itself
};

namespace {

inline bool begins(const std::uint64_t* numbers, std::int64_t i, const RunSizes& sizes) {
  return i == 0 || numbers[i] != numbers[i - 1] || (numbers[i] & sizes.magnitude) > sizes.infinity;
}

}  // namespace

// A work-item per chunk.
ONEXPU_KERNEL void runs_count(const std::uint64_t* numbers, std::int64_t* counts, RunSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  std::int64_t count = 0;
  for (std::int64_t i = first; i < last; ++i) count += begins(numbers, i, sizes);
  counts[onexpu::global_id()] = count;
}

ONEXPU_KERNEL void runs_mark(const std::uint64_t* numbers, const std::int64_t* positions,
                             std::uint32_t* runs, std::uint32_t* run_begins, RunSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  std::int64_t next = positions[onexpu::global_id()];
  for (std::int64_t i = first; i < last; ++i) {
    if (begins(numbers, i, sizes)) run_begins[next++] = std::uint32_t(i);
    runs[i] = std::uint32_t(next - 1);
  }
  if (last == sizes.elements) run_begins[next] = std::uint32_t(last);
}
