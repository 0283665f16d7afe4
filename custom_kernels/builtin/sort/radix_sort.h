// A stable sort of numbers with the places that they come from, for handlers whose work is easy
// once equal numbers are neighbours. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SORT_RADIX_SORT_H_
#define CUSTOM_KERNELS_BUILTIN_SORT_RADIX_SORT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

// Both [elements], in device memory.
struct SortedNumbers {
  const uint64_t* numbers;  // ascending
  const uint32_t* places;   // where each was
};

// Bits that tell `values` numbers, 0 to values - 1, apart.
int BitsFor(uint64_t values);

// Sorts u64[elements] at `numbers`, which are less than 2^bits; the array is overwritten.
// UNIMPLEMENTED from 2^32 elements on, RESOURCE_EXHAUSTED without memory for the work.
//
// A least-significant-digit radix sort: per digit, the chunks count (their counts are scanned) and
// then move their elements (D. E. Knuth, The Art of Computer Programming, vol. 3, 5.2.5). Digits
// that all numbers share cost next to nothing, and so do numbers that ascend already.
//
// Where the device has 0 at `has_to_sort`, unless that is null, nothing is read or written.
absl::StatusOr<SortedNumbers> SortWithPlaces(sycl::queue& queue,
                                             ::xla::ffi::ScratchAllocator& scratch,
                                             uint64_t* numbers, int64_t elements, int bits,
                                             const uint32_t* has_to_sort = nullptr);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SORT_RADIX_SORT_H_
