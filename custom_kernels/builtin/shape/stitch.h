// XLA FFI handler that merges rows of several arrays by index. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SHAPE_STITCH_H_
#define CUSTOM_KERNELS_BUILTIN_SHAPE_STITCH_H_

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Operands: places u32[rows], then arrays [n, ...] of one type and one shape of rows, n > 0.
// Result [rows, ...]: row i is row places[i] of the concatenation of the arrays, and zero if
// places[i] is 2^32 - 1. All other places must be less than the rows of the concatenation.
XLA_FFI_Error* StitchRowsHandler(XLA_FFI_CallFrame* frame);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SHAPE_STITCH_H_
