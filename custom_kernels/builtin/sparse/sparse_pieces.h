// XLA FFI handlers that take slices of sparse tensors of coordinates and join them. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SPARSE_SPARSE_PIECES_H_
#define CUSTOM_KERNELS_BUILTIN_SPARSE_SPARSE_PIECES_H_

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Coordinates are s64[n, rank], values [n] of any type.

// Operands: coordinates, values, n > 0. Attributes start and size, s64[rank]. Results: those of the
// box, as they come, from `start` on, n of which the beginning is filled; how many they are, s64[1]
// (pinned host).
XLA_FFI_Error* SparseSliceHandler(XLA_FFI_CallFrame* frame);

// Operands: coordinates and values, in turn. Attributes: dimension; offsets, s64[tensors], where
// each begins in that dimension. Results: coordinates and values of all, one after the other.
XLA_FFI_Error* SparseConcatHandler(XLA_FFI_CallFrame* frame);

// Operand [n, ...]. Attribute first. Result [m, ...]: the rows from `first` on.
XLA_FFI_Error* CopyRowsHandler(XLA_FFI_CallFrame* frame);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SPARSE_SPARSE_PIECES_H_
