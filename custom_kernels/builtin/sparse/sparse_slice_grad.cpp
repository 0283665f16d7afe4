// The gradient of a sparse tensor's slice. Kernel source: built by sycl_kernels, see BUILD.

#include "custom_kernels/builtin/support/bits128.hpp"

struct SliceGradSizes {
  std::int64_t elements, sliced, chunk;
  std::int32_t rank, padding;
};

namespace {

// Below 0, 0, above 0: as `a`, moved by `start` unless that is null, comes before `b`, is it, or
// comes behind it.
inline int compare(const std::int64_t* a, const std::int64_t* start, const std::int64_t* b,
                   std::int32_t rank) {
  for (std::int32_t d = 0; d < rank; ++d) {
    const std::int64_t moved = start == nullptr ? a[d] : a[d] + start[d];
    if (moved != b[d]) return moved < b[d] ? -1 : 1;
  }
  return 0;
}

}  // namespace

// A work-item per chunk of the slice. *is_in_disorder is 0 before; it becomes 1 where an element
// does not come behind the one before it.
ONEXPU_KERNEL void slice_grad_look(const std::int64_t* slice, std::uint32_t* is_in_disorder,
                                   SliceGradSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.sliced);
  for (std::int64_t i = sycl::max(first, std::int64_t{1}); i < last; ++i) {
    const std::int64_t* const here = slice + i * sizes.rank;
    if (compare(here - sizes.rank, nullptr, here, sizes.rank) < 0) continue;
    sycl::atomic_ref<std::uint32_t, sycl::memory_order::relaxed, sycl::memory_scope::device>(
        *is_in_disorder)
        .store(1);
    return;
  }
}

// A work-item per chunk of the whole.
template <typename Bits>
ONEXPU_KERNEL void slice_grad_search(const Bits* gradient, const std::int64_t* coordinates,
                                     const std::int64_t* start, const std::int64_t* slice,
                                     const std::uint32_t* is_in_disorder, Bits* result,
                                     SliceGradSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  const bool searches = *is_in_disorder == 0;
  std::int64_t next = 0;  // of the slice: mostly where the following element is
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t* const here = coordinates + i * sizes.rank;
    result[i] = Bits{};
    if (!searches) continue;
    const auto is_at = [&](std::int64_t j) {
      return j < sizes.sliced && compare(slice + j * sizes.rank, start, here, sizes.rank) == 0;
    };
    if (!is_at(next)) {
      std::int64_t low = 0, high = sizes.sliced;
      while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (compare(slice + middle * sizes.rank, start, here, sizes.rank) < 0) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      next = low;
      if (!is_at(next)) continue;
    }
    result[i] = gradient[next++];
  }
}

// One work-item. The result is zero before.
template <typename Bits>
ONEXPU_KERNEL void slice_grad_merge(const Bits* gradient, const std::int64_t* coordinates,
                                    const std::int64_t* start, const std::int64_t* slice,
                                    const std::uint32_t* is_in_disorder, Bits* result,
                                    SliceGradSizes sizes) {
  if (*is_in_disorder == 0) return;
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < sizes.elements && next < sizes.sliced; ++i) {
    if (compare(slice + next * sizes.rank, start, coordinates + i * sizes.rank, sizes.rank) == 0)
      result[i] = gradient[next++];
  }
}
