// Serial walks over the pieces of an array, a work-item each, and the sums of what they count: the
// way in which kernels of this room find places for results whose number depends on values.
//
// For handlers; thread-safe. Errors: RESOURCE_EXHAUSTED without device memory.
#ifndef CUSTOM_KERNELS_BUILTIN_SUPPORT_CHUNKS_H_
#define CUSTOM_KERNELS_BUILTIN_SUPPORT_CHUNKS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "custom_kernels/launch_kernel.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

struct Chunks {
  int64_t size;   // elements of each but the last
  int64_t count;  // 0 for no elements
  KernelRange range;
};

// Pieces of `size` elements.
Chunks ChunksOf(const sycl::queue& queue, int64_t elements, int64_t size);

// Pieces of the device's choice: on a CPU a few for each core, on a GPU of `size_on_gpu` elements.
Chunks WalksOf(const sycl::queue& queue, int64_t elements, int64_t size_on_gpu);

// Replaces each of `n` 64-bit counts by the sum of those before it. The sum of all goes to the s64
// at `total`, unless that is null.
absl::Status ScanCounts(sycl::queue& queue, void* counts, int64_t n, void* total);

// Device memory for as long as the handler's work takes. `who` begins the error.
absl::StatusOr<void*> AllocateScratch(::xla::ffi::ScratchAllocator& scratch, size_t bytes,
                                      absl::string_view who);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SUPPORT_CHUNKS_H_
