// Splits an array into chunks, one work-item each, and scans the counts of the chunks. Built-in
// kernels compact results this way if their number depends on values.
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

// Chunks of `size` elements.
Chunks ChunksOf(const sycl::queue& queue, int64_t elements, int64_t size);

// Chunks for the device: a few for each core of a CPU, or of `size_on_gpu` elements on a GPU.
Chunks ChooseChunks(const sycl::queue& queue, int64_t elements, int64_t size_on_gpu);

// Exclusive prefix sum of `n` 64-bit counts, in place. The sum of all goes to the s64 at `total`,
// unless that is null.
absl::Status ScanCounts(sycl::queue& queue, void* counts, int64_t n, void* total);

// Device memory for the duration of the handler's work. `handler` begins the error message.
absl::StatusOr<void*> AllocateScratch(::xla::ffi::ScratchAllocator& scratch, size_t bytes,
                                      absl::string_view handler);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SUPPORT_CHUNKS_H_
