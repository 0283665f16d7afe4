// Runs of equal numbers among sorted ones. For handlers; thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SEGMENT_RUNS_H_
#define CUSTOM_KERNELS_BUILTIN_SEGMENT_RUNS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

// When two numbers that have equal bits are equal: never if the bits of `magnitude`, taken as a
// number, are above `infinity`. The default is always.
struct Equality {
  uint64_t magnitude = ~uint64_t{0};
  uint64_t infinity = ~uint64_t{0};
};

// In device memory.
struct Runs {
  const uint32_t* of;      // [elements]: the run that each is in
  const uint32_t* begins;  // [runs + 1]: where each begins, and where the last one ends
};

// `numbers` [elements] ascend; elements > 0. How many runs there are goes to the s64 at `total`.
// RESOURCE_EXHAUSTED without memory.
absl::StatusOr<Runs> FindRuns(sycl::queue& queue, ::xla::ffi::ScratchAllocator& scratch,
                              const uint64_t* numbers, int64_t elements, const Equality& equality,
                              void* total);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SEGMENT_RUNS_H_
