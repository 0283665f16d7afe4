// XLA FFI handler that picks rows by their places. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_GATHER_ROWS_H_
#define CUSTOM_KERNELS_BUILTIN_GATHER_ROWS_H_

#include "absl/status/status.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

// result[i, ...] = data[places[i], ...]. Both of one type, `places` as many as the result has rows,
// all less than the rows of `data`.
absl::Status GatherRows(sycl::queue& queue, const ::xla::ffi::AnyBuffer& data,
                        const uint32_t* places, const ::xla::ffi::AnyBuffer& result);

// Operands: data [n, ...], places u32[m]. Attribute first: the place in `places` of the first row.
// Result: [k, ...], k <= m - first.
XLA_FFI_Error* GatherRowsHandler(XLA_FFI_CallFrame* frame);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_GATHER_ROWS_H_
