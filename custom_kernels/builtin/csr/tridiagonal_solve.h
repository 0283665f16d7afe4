// XLA FFI handler that solves tridiagonal systems. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_CSR_TRIDIAGONAL_SOLVE_H_
#define CUSTOM_KERNELS_BUILTIN_CSR_TRIDIAGONAL_SOLVE_H_

#include <string>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace onexpu {

// Operands: diagonals T[..., 3, n], above, main and below, of which the last element of the first
// and the first of the third count for nothing; right-hand sides T[..., n, k]. Attribute:
// partial_pivoting. Result: solutions T[..., n, k]; what is not finite, where the matrix is
// singular. INVALID_ARGUMENT for shapes that do not fit, UNIMPLEMENTED for other types,
// RESOURCE_EXHAUSTED without memory for the factors.
XLA_FFI_Error* TridiagonalSolveHandler(XLA_FFI_CallFrame* frame);

std::vector<std::string> TridiagonalSolveTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_CSR_TRIDIAGONAL_SOLVE_H_
