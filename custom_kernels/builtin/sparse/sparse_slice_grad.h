// XLA FFI handler of the gradient of a sparse tensor's slice. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SPARSE_SPARSE_SLICE_GRAD_H_
#define CUSTOM_KERNELS_BUILTIN_SPARSE_SPARSE_SLICE_GRAD_H_

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Operands: the gradient of the slice's values [m] of any type, coordinates s64[n, rank] of the
// whole, the slice's start s64[rank], coordinates s64[m, rank] of the slice, m <= n. Result [n]:
// the gradient of the element that each of the whole became, 0 for those that are not in the slice.
//
// The elements of the slice are in the order of the whole. In row-major order, the common case,
// each element is found by a binary search. In another order, or if coordinates repeat, one
// work-item merges both.
XLA_FFI_Error* SparseSliceGradHandler(XLA_FFI_CallFrame* frame);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SPARSE_SPARSE_SLICE_GRAD_H_
