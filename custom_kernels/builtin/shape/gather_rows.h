// Rows picked by their places. For handlers; thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SHAPE_GATHER_ROWS_H_
#define CUSTOM_KERNELS_BUILTIN_SHAPE_GATHER_ROWS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

// result[i, ...] = data[places[i], ...]. Both of one type, `places` as many as the result has rows,
// all less than the rows of `data`.
absl::Status GatherRows(sycl::queue& queue, const ::xla::ffi::AnyBuffer& data,
                        const uint32_t* places, const ::xla::ffi::AnyBuffer& result);

// The maximum number of bytes of contiguous rows that a work-item can copy at once: 1, 2, 4, 8 or
// 16.
int64_t BytesAtOnce(int64_t row_bytes);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SHAPE_GATHER_ROWS_H_
