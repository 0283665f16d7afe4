// Rows by the partition that each belongs to. Kernel source: built by sycl_kernels, see BUILD.

struct Bits128 {
  std::uint64_t low, high;
};

// Of some partitions side by side.
template <typename Bits>
struct Destinations {
  Bits* rows[16];
};

struct MoveSizes {
  std::int64_t elements, kinds, chunk;
  std::int64_t columns;
  std::int64_t first, count;  // partitions that have a destination
};

// A work-item per partition, and one for what is in none.
ONEXPU_KERNEL void partition_count(const std::uint32_t* places, const std::int64_t* begins,
                                   std::int64_t* counts, std::int64_t partitions) {
  const std::int64_t partition = std::int64_t(onexpu::global_id());
  const std::int64_t begin = begins[partition], end = begins[partition + 1];
  counts[partition] = end - begin;
  if (partition == partitions) counts[partition + 1] = begin < end ? places[begin] : -1;
}

// A work-item per `ways` chunks of rows; see counting_sort.h.
template <typename Bits, int ways>
ONEXPU_KERNEL void partition_move(const Bits* data, const std::int32_t* partitions,
                                  const std::uint32_t* counts, Destinations<Bits> to,
                                  MoveSizes sizes) {
  const std::int64_t chunk = std::int64_t(onexpu::global_id()) * ways;
  std::uint32_t next[ways][16];
  for (int way = 0; way < ways; ++way) {
    const std::uint32_t* const before = counts + (chunk + way) * (sizes.kinds + 1) + sizes.first;
    for (std::int64_t k = 0; k < sizes.count; ++k) next[way][k] = before[k];
  }
  for (std::int64_t step = 0; step < sizes.chunk; ++step) {
    for (int way = 0; way < ways; ++way) {
      const std::int64_t i = (chunk + way) * sizes.chunk + step;
      if (i >= sizes.elements) continue;
      const std::int64_t k = partitions[i] - sizes.first;
      if (k < 0 || k >= sizes.count) continue;
      const std::int64_t row = next[way][k]++;
      for (std::int64_t column = 0; column < sizes.columns; ++column)
        to.rows[k][row * sizes.columns + column] = data[i * sizes.columns + column];
    }
  }
}
