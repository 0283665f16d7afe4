// XLA FFI handler of products of sparse matrices in compressed rows and dense ones. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_CSR_CSR_MATMUL_H_
#define CUSTOM_KERNELS_BUILTIN_CSR_CSR_MATMUL_H_

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Operands: a matrix (csr_structure.h), B [(batches,) k, columns]. Attributes: shape, of the sparse
// matrix as it is; transpose_a, conjugate_a, transpose_b, conjugate_b, transpose_output and
// conjugate_output, 1 or 0. Result [(batches,) rows, columns], or transposed. An operand or the
// result is conjugated only where it says so, transposed or not.
//
// Sums are made in the order of the elements of op(A): results are the same in every run.
XLA_FFI_Error* CsrMatmulHandler(XLA_FFI_CallFrame* frame);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_CSR_CSR_MATMUL_H_
