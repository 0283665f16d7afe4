// XLA FFI handlers of sums and products of sparse matrices in compressed rows, sparse again. For
// matrices see csr_structure.h. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_CSR_CSR_MERGE_H_
#define CUSTOM_KERNELS_BUILTIN_CSR_CSR_MERGE_H_

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// The results of both handlers that make a matrix: row pointers; column indices and values, of a
// length that suffices, of which the beginning is filled; how many elements each batch has,
// s64[batches] (pinned host). Columns ascend in each row. What sums to zero stays an element.

// Operands: matrices of one shape, each with a scale [1] after it, at least one element in all.
// Attribute shape. Results: the scaled matrices' sum; all their elements suffice.
XLA_FFI_Error* CsrAddHandler(XLA_FFI_CallFrame* frame);

// Operands: A and B, of n > 0 elements each; if one has one batch, that is multiplied with all of
// the other. Attributes shape and b_shape. Result: of how many products of elements A * B is made,
// s64[1] (pinned host).
XLA_FFI_Error* CsrProductTermsHandler(XLA_FFI_CallFrame* frame);

// Operands: A and B. Attributes shape and b_shape; terms: that number, if it is above 0. Results: A
// * B; as many elements as terms or cells, the fewer, suffice.
XLA_FFI_Error* CsrProductHandler(XLA_FFI_CallFrame* frame);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_CSR_CSR_MERGE_H_
