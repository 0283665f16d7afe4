// XLA FFI handlers on the coordinates of sparse tensors: their order, and their coordinates in
// another shape. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SPARSE_SPARSE_COORDINATES_H_
#define CUSTOM_KERNELS_BUILTIN_SPARSE_SPARSE_COORDINATES_H_

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Operands: indices s64[n, rank], values [n] of any type. Attribute shape: s64[rank], whose product
// is less than 2^63. Results: the same, the indices in row-major order, equal ones as they were.
XLA_FFI_Error* SparseReorderHandler(XLA_FFI_CallFrame* frame);

// Operand: indices s64[n, rank]. Attributes from, to: s64[rank], s64[new rank], of one product.
// Result: s64[n, new rank], the places in row-major order of the elements that had indices.
XLA_FFI_Error* SparseReshapeHandler(XLA_FFI_CallFrame* frame);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SPARSE_SPARSE_COORDINATES_H_
