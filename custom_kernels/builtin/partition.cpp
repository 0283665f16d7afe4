// The order that puts rows into partitions. Kernel source: built by sycl_kernels, see BUILD.

struct PartitionSizes {
  std::int64_t elements, partitions;
};

namespace {

// How many of the ascending numbers are less than `bound`.
inline std::int64_t less_than(const std::uint64_t* numbers, std::int64_t count,
                              std::uint64_t bound) {
  std::int64_t low = 0, high = count;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (numbers[middle] < bound) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

// What is in no partition comes after all of them.
ONEXPU_KERNEL void partition_numbers(const std::int32_t* partitions, std::uint64_t* numbers,
                                     PartitionSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  const std::int64_t partition = partitions[i];
  const bool is_inside = partition >= 0 && partition < sizes.partitions;
  numbers[i] = std::uint64_t(is_inside ? partition : sizes.partitions);
}

// A work-item per partition, and one for what is in none.
ONEXPU_KERNEL void partition_count(const std::uint64_t* numbers, const std::uint32_t* places,
                                   std::int64_t* counts, PartitionSizes sizes) {
  const std::int64_t partition = std::int64_t(onexpu::global_id());
  const std::int64_t begin = less_than(numbers, sizes.elements, partition);
  counts[partition] = less_than(numbers, sizes.elements, partition + 1) - begin;
  if (partition == sizes.partitions)
    counts[partition + 1] = begin < sizes.elements ? places[begin] : -1;
}
