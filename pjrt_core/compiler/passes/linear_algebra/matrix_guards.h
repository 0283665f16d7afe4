// HLO around a factorisation that makes whole matrices NaN where it fails. Stateless.
#ifndef PJRT_CORE_COMPILER_PASSES_LINEAR_ALGEBRA_MATRIX_GUARDS_H_
#define PJRT_CORE_COMPILER_PASSES_LINEAR_ALGEBRA_MATRIX_GUARDS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// Of a Cholesky factor that XLA's expander writes, which leaves NaN only where it met it: LAPACK
// and JAX want the whole matrix to be NaN unless every pivot is positive.
absl::StatusOr<xla::HloInstruction*> NanUnlessPositiveDefinite(xla::HloInstruction* factor);

// What a routine reads of its matrices.
enum class MatrixPart { kAll, kLowerTriangle, kUpperTriangle };

// What one NaN or infinity does to an iteration of LAPACK's, or Jacobi's, is not said: some results
// are NaN, some are not. Such matrices, the first operand's, are kept from it, and all of their
// results are NaN. Replaces `call`.
absl::Status GuardIteration(xla::HloInstruction* call, MatrixPart read);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_LINEAR_ALGEBRA_MATRIX_GUARDS_H_
