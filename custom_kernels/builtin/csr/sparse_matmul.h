// XLA FFI handler of products of sparse and dense matrices. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_CSR_SPARSE_MATMUL_H_
#define CUSTOM_KERNELS_BUILTIN_CSR_SPARSE_MATMUL_H_

#include <string>
#include <vector>

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Operands: the coordinates of A [n, 2] in s32 or s64, its values [n], B [k, columns] (or [columns,
// k]). Attributes adjoint_a, adjoint_b: 1 to take the adjoint, else 0. Result [rows, columns].
//
// Sums are made in the order of A's elements. Elements in no row are left out, and those of no
// column of A give NaN, as TensorFlow's accelerators do.
XLA_FFI_Error* SparseMatmulHandler(XLA_FFI_CallFrame* frame);

// As numpy calls them.
std::vector<std::string> SparseMatmulTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_CSR_SPARSE_MATMUL_H_
