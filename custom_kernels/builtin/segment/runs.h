// Finds runs of equal keys in a sorted array (as run-length encoding does). For handlers;
// thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SEGMENT_RUNS_H_
#define CUSTOM_KERNELS_BUILTIN_SEGMENT_RUNS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

// Keys of equal bits are equal, unless their bits under the mask `magnitude` are above `infinity`
// (NaN). By default all are equal.
struct Equality {
  uint64_t magnitude = ~uint64_t{0};
  uint64_t infinity = ~uint64_t{0};
};

// In device memory.
struct Runs {
  const uint32_t* of;      // [elements]: the run of each element
  const uint32_t* begins;  // [runs + 1]: the first element of each run, and the end
};

// `numbers` [elements] are sorted; elements > 0. The number of runs goes to the s64 at `total`.
// RESOURCE_EXHAUSTED if device memory is exhausted.
absl::StatusOr<Runs> FindRuns(sycl::queue& queue, ::xla::ffi::ScratchAllocator& scratch,
                              const uint64_t* numbers, int64_t elements, const Equality& equality,
                              void* total);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SEGMENT_RUNS_H_
