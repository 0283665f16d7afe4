// Prefix sum of counts. Kernel source: built by sycl_kernels, see BUILD.

// One work-group for all.
ONEXPU_KERNEL void scan_counts(std::int64_t* counts, std::int64_t* total, std::int64_t n) {
  const auto item = onexpu::item();
  const auto group = item.get_group();
  std::int64_t carry = 0;
  for (std::int64_t base = 0; base < n; base += std::int64_t(item.get_local_range(0))) {
    const std::int64_t index = base + std::int64_t(item.get_local_id(0));
    const std::int64_t count = index < n ? counts[index] : 0;
    const std::int64_t before =
        sycl::exclusive_scan_over_group(group, count, sycl::plus<std::int64_t>());
    if (index < n) counts[index] = carry + before;
    carry += sycl::reduce_over_group(group, count, sycl::plus<std::int64_t>());
  }
  if (total != nullptr && item.get_local_id(0) == 0) *total = carry;
}
