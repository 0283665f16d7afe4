// The distinct elements of a vector, in the order in which they first come: TensorFlow's Unique.
// Kernel source: built by sycl_kernels, see BUILD.
//
// A stable sort makes runs of equal elements, each of which begins with the one that came first.
// The first ones, numbered in their own order, are the result. Elements are compared as bits, so
// that one kernel serves all types of a size.

struct UniqueSizes {
  std::int64_t elements, chunk;
  std::uint64_t magnitude;        // for floating-point numbers, all but the sign; else all bits
  std::int32_t numbers_are_wide;  // s64, else s32
  std::int32_t padding;
};

namespace {

inline void write(void* numbers, std::int32_t are_wide, std::int64_t i, std::int64_t value) {
  if (are_wide) {
    static_cast<std::int64_t*>(numbers)[i] = value;
  } else {
    static_cast<std::int32_t*>(numbers)[i] = std::int32_t(value);
  }
}

}  // namespace

// What is equal has equal bits afterwards.
template <typename Bits>
ONEXPU_KERNEL void unique_bits(const Bits* x, std::uint64_t* bits, UniqueSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  const std::uint64_t value = x[i];
  bits[i] = (value & sizes.magnitude) == 0 ? 0 : value;
}

// Whether each element of x is the first of its kind.
ONEXPU_KERNEL void unique_firsts(const std::uint32_t* places, const std::uint32_t* runs,
                                 const std::uint32_t* run_begins, std::uint8_t* is_first) {
  const std::uint32_t i = std::uint32_t(onexpu::global_id());
  is_first[places[i]] = run_begins[runs[i]] == i;
}

// A work-item per chunk, as in the next.
ONEXPU_KERNEL void unique_count_firsts(const std::uint8_t* is_first, std::int64_t* counts,
                                       UniqueSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  std::int64_t count = 0;
  for (std::int64_t i = first; i < last; ++i) count += is_first[i];
  counts[onexpu::global_id()] = count;
}

ONEXPU_KERNEL void unique_number_firsts(const std::uint8_t* is_first, const std::int64_t* positions,
                                        std::uint32_t* numbers, UniqueSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  std::int64_t next = positions[onexpu::global_id()];
  for (std::int64_t i = first; i < last; ++i) {
    numbers[i] = std::uint32_t(next);
    next += is_first[i];
  }
}

// A work-item per sorted element.
template <typename Bits>
ONEXPU_KERNEL void unique_write(const Bits* x, const std::uint32_t* places,
                                const std::uint32_t* runs, const std::uint32_t* run_begins,
                                const std::uint32_t* numbers, Bits* y, void* indices, void* counts,
                                UniqueSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  const std::uint32_t run = runs[i], begin = run_begins[run];
  const std::uint32_t number = numbers[places[begin]];
  write(indices, sizes.numbers_are_wide, places[i], number);
  if (begin != i) return;
  y[number] = x[places[begin]];
  write(counts, sizes.numbers_are_wide, number, run_begins[run + 1] - begin);
}
