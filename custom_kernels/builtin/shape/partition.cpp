// Rows by the partition that each belongs to. Kernel source: built by sycl_kernels, see BUILD.

#include "custom_kernels/builtin/support/bits128.hpp"

// Addresses of the rows of some partitions side by side.
struct Destinations {
  std::uint64_t rows[16];
};

struct MoveSizes {
  std::int64_t elements, kinds, chunk;
  std::int64_t columns;
  std::int64_t first, count;  // partitions that have a destination
};

// A work-item per partition, and one for what is in none.
ONEXPU_KERNEL void partition_count(const std::int64_t* begins, std::int64_t* counts) {
  const std::int64_t partition = std::int64_t(onexpu::global_id());
  counts[partition] = begins[partition + 1] - begins[partition];
}

// One work-item, which has something to do where the op fails: the first row that is in none.
ONEXPU_KERNEL void partition_find(const std::int32_t* partitions, std::int64_t* counts,
                                  std::int64_t rows, std::int64_t count) {
  counts[count + 1] = -1;
  if (counts[count] == 0) return;
  std::int64_t row = 0;
  while (row + 1 < rows && partitions[row] >= 0 && partitions[row] < count) ++row;
  counts[count + 1] = row;
}

// A work-item per chunk of rows; see counting_sort.h.
template <typename Bits>
ONEXPU_KERNEL void partition_move(const Bits* data, const std::int32_t* partitions,
                                  const std::uint32_t* counts, Destinations to, MoveSizes sizes) {
  const std::int64_t chunk = std::int64_t(onexpu::global_id());
  const std::uint32_t* const before = counts + chunk * (sizes.kinds + 1) + sizes.first;
  Bits* next[16];
  for (std::int64_t k = 0; k < sizes.count; ++k)
    next[k] = reinterpret_cast<Bits*>(to.rows[k]) + before[k] * sizes.columns;
  const std::int64_t last = sycl::min((chunk + 1) * sizes.chunk, sizes.elements);
  for (std::int64_t i = chunk * sizes.chunk; i < last; ++i) {
    const std::uint64_t k = std::uint64_t(partitions[i] - sizes.first);
    if (k >= std::uint64_t(sizes.count)) continue;
    Bits* const destination = next[k];
    next[k] = destination + sizes.columns;
    const Bits* const from = data + i * sizes.columns;
    if (sizes.columns == 1) {  // no loop
      *destination = *from;
      continue;
    }
    for (std::int64_t column = 0; column < sizes.columns; ++column)
      destination[column] = from[column];
  }
}
