// The distinct elements of a vector, in order of first occurrence: TensorFlow's Unique. Kernel
// source: built by sycl_kernels, see BUILD.
//
// A hash table finds the first occurrence of each value; these, numbered in their order, are the
// result. The slot of a value depends on the order of work-items, but the contents that are read
// afterwards do not. Elements are compared as bits, so that one kernel serves all types of a size.

struct UniqueSizes {
  std::int64_t elements, chunk;
  std::uint64_t magnitude, infinity;  // for floating-point numbers, all but the sign; else all bits
  std::int32_t slot_bits;             // of the table
  std::int32_t numbers_are_wide;      // s64, else s32
};

namespace {

constexpr std::uint32_t kNone = 0xffffffffu;  // no element has this number

inline void write(void* numbers, std::int32_t are_wide, std::int64_t i, std::int64_t value) {
  if (are_wide) {
    static_cast<std::int64_t*>(numbers)[i] = value;
  } else {
    static_cast<std::int32_t*>(numbers)[i] = std::int32_t(value);
  }
}

inline std::int64_t read(const void* numbers, std::int32_t are_wide, std::int64_t i) {
  return are_wide ? static_cast<const std::int64_t*>(numbers)[i]
                  : static_cast<const std::int32_t*>(numbers)[i];
}

// What is equal has equal bits afterwards.
inline std::uint64_t bits_of(std::uint64_t value, const UniqueSizes& sizes) {
  return (value & sizes.magnitude) == 0 ? 0 : value;
}

using Slot =
    sycl::atomic_ref<std::uint32_t, sycl::memory_order::relaxed, sycl::memory_scope::device,
                     sycl::access::address_space::global_space>;

// The slot of the element's kind, which knows the element then if it is the first so far.
template <typename Bits>
inline std::uint32_t insert(const Bits* x, std::uint32_t element, std::uint64_t bits,
                            std::uint32_t* table, const UniqueSizes& sizes) {
  const std::uint32_t last = (1u << sizes.slot_bits) - 1;
  // Multiplicative hashing (D. E. Knuth, The Art of Computer Programming, vol. 3, 6.4).
  std::uint32_t slot = std::uint32_t(bits * 0x9e3779b97f4a7c15u >> (64 - sizes.slot_bits));
  for (;; slot = (slot + 1) & last) {
    Slot entry(table[slot]);
    std::uint32_t found = entry.load();
    if (found == kNone && entry.compare_exchange_strong(found, element)) return slot;
    if (bits_of(x[found], sizes) != bits) continue;
    if (element < found) entry.fetch_min(element);
    return slot;
  }
}

}  // namespace

// A work-item per chunk, as in the next. The table is all kNone before.
template <typename Bits>
ONEXPU_KERNEL void unique_insert(const Bits* x, std::uint32_t* table, std::uint32_t* slots,
                                 UniqueSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  for (std::int64_t i = first; i < last; ++i) {
    const std::uint64_t bits = bits_of(x[i], sizes);
    const bool is_number = (bits & sizes.magnitude) <= sizes.infinity;
    slots[i] = is_number ? insert(x, std::uint32_t(i), bits, table, sizes) : kNone;
  }
}

// Slots become the first elements of the kinds, which are counted.
ONEXPU_KERNEL void unique_count_firsts(const std::uint32_t* table, std::uint32_t* slots,
                                       std::int64_t* counts, UniqueSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  std::int64_t count = 0;
  for (std::int64_t i = first; i < last; ++i) {
    const std::uint32_t own = slots[i] == kNone ? std::uint32_t(i) : table[slots[i]];
    slots[i] = own;
    count += own == i;
  }
  counts[onexpu::global_id()] = count;
}

template <typename Bits>
ONEXPU_KERNEL void unique_number_firsts(const Bits* x, const std::uint32_t* firsts,
                                        const std::int64_t* positions, std::uint32_t* numbers,
                                        Bits* y, UniqueSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  std::int64_t next = positions[onexpu::global_id()];
  for (std::int64_t i = first; i < last; ++i) {
    if (firsts[i] != i) continue;
    numbers[i] = std::uint32_t(next);
    y[next++] = x[i];
  }
}

// A work-item per element.
ONEXPU_KERNEL void unique_indices(const std::uint32_t* firsts, const std::uint32_t* numbers,
                                  void* indices, UniqueSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  write(indices, sizes.numbers_are_wide, i, numbers[firsts[i]]);
}

// A CPU's: a work-item per share of the elements, with tallies of its own.
ONEXPU_KERNEL void unique_tally_share(const void* indices, const std::int64_t* total,
                                      std::uint32_t* tallies, std::int64_t share,
                                      UniqueSizes sizes) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t first = id * share, last = sycl::min(first + share, sizes.elements);
  std::uint32_t* const own = tallies + id * sizes.elements;
  for (std::int64_t k = 0; k < *total; ++k) own[k] = 0;
  for (std::int64_t i = first; i < last; ++i) ++own[read(indices, sizes.numbers_are_wide, i)];
}

// A GPU's: a work-item per element. `tallies` are zero before.
ONEXPU_KERNEL void unique_tally(const void* indices, std::uint32_t* tallies, UniqueSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  Slot(tallies[read(indices, sizes.numbers_are_wide, i)]).fetch_add(1u);
}

// A work-item per kind, or as many as there may be.
ONEXPU_KERNEL void unique_counts(const std::uint32_t* tallies, const std::int64_t* total,
                                 void* counts, std::int64_t shares, UniqueSizes sizes) {
  const std::int64_t k = std::int64_t(onexpu::global_id());
  if (k >= *total) return;
  std::int64_t count = 0;
  for (std::int64_t share = 0; share < shares; ++share)
    count += tallies[share * sizes.elements + k];
  write(counts, sizes.numbers_are_wide, k, count);
}
