// Elements of one kind beside each other, in the order in which they were. For handlers;
// thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SORT_COUNTING_SORT_H_
#define CUSTOM_KERNELS_BUILTIN_SORT_COUNTING_SORT_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "custom_kernels/launch_kernel.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

// The chunks in which kinds are counted. A work-item interleaves `ways` chunks, because consecutive
// elements of one chunk may update the same counter, and each update would wait for the one before.
struct KindChunks {
  int64_t size, count;
  int64_t ways;
  KernelRange range;  // of count / ways work-items
};

// Nothing if kinds are not counted.
std::optional<KindChunks> KindChunksOf(const sycl::queue& queue, int64_t elements, int64_t kinds);

// In device memory.
struct SortedKinds {
  const uint32_t* places;  // [elements]: where each was, those of kind 0 first
  const int64_t* begins;   // [kinds + 2]: where each kind begins, what is of none, and the end
};

// Sorts by `kind_of` s32[elements], elements > 0. A number outside of [0, kinds) is of none, which
// comes last. The places go to `places` unless that is null. UNIMPLEMENTED from 2^32 elements on,
// RESOURCE_EXHAUSTED without memory for the work.
//
// A CPU uses a counting sort with few chunks. With many chunks, or more kinds than elements, it is
// a radix sort.
absl::StatusOr<SortedKinds> SortByKind(sycl::queue& queue, ::xla::ffi::ScratchAllocator& scratch,
                                       const int32_t* kind_of, int64_t elements, int64_t kinds,
                                       uint32_t* places);

// For a kernel that puts elements into their places itself: those of kind k in a chunk come after
// counts[chunk][k] others of their kind.
struct CountedKinds {
  uint32_t* counts;       // [chunks, kinds + 1]
  const int64_t* begins;  // as above
  KindChunks chunks;
};

// Nothing if SortByKind would not count. The counts go to `counts` unless that is null; there are
// at most as many counts as elements.
absl::StatusOr<std::optional<CountedKinds>> CountByKind(sycl::queue& queue,
                                                        ::xla::ffi::ScratchAllocator& scratch,
                                                        const int32_t* kind_of, int64_t elements,
                                                        int64_t kinds, uint32_t* counts);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SORT_COUNTING_SORT_H_
