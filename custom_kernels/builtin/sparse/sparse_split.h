// XLA FFI handlers that cut sparse tensors of coordinates into equal pieces. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SPARSE_SPARSE_SPLIT_H_
#define CUSTOM_KERNELS_BUILTIN_SPARSE_SPARSE_SPLIT_H_

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Attributes of both: the dimension, and extent, its size, which is cut into equal pieces, of which
// the first ones have one more.

// Operand: coordinates s64[n, rank], n > 0. Results: the piece of each element s32[n], -1 for none;
// order u32[n], for the next handler; how many elements each piece has, s64[pieces] (pinned host).
XLA_FFI_Error* SparseSplitHandler(XLA_FFI_CallFrame* frame);

// Operands: coordinates; values [n] of any type; pieces and order as above. Results: coordinates
// and values of each piece, in turn, in which elements are as they come.
XLA_FFI_Error* SparseSplitElementsHandler(XLA_FFI_CallFrame* frame);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SPARSE_SPARSE_SPLIT_H_
