// HLO around a factorisation that keeps the squares of elements within the range of their type.
// Stateless.
#ifndef PJRT_CORE_COMPILER_PASSES_LINEAR_ALGEBRA_MATRIX_SCALING_H_
#define PJRT_CORE_COMPILER_PASSES_LINEAR_ALGEBRA_MATRIX_SCALING_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/compiler/passes/linear_algebra/matrix_guards.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// XLA's expanders of Qr and Eigh, and oneMKL's iterations, sum squares, which underflow or overflow
// for elements that are within the type's range. Operands are F32, F64, C64 or C128.

// Divides the matrices of an Eigh by powers of two, so that the largest element that is read of
// each is in [1, 2), and multiplies its eigenvalues by them. Replaces `call`; returns the call for
// the scaled matrices.
absl::StatusOr<xla::HloInstruction*> ScaleMatrices(xla::HloInstruction* call, MatrixPart read);

// Sets elements off the diagonal to zero that are below the square of the type's rounding error, in
// the scaled matrices of an Eigh. No eigenvalue changes by a rounding error of the norm, but
// oneMKL's syevd and heevd of single precision give NaN where their squares underflow.
absl::Status DropNegligible(xla::HloInstruction* call);

// The same for the columns of the matrices of a Qr, each with a power of two of its own, by which
// those of R are multiplied. Below R there are reflectors, whose first element is 1.
absl::Status ScaleColumns(xla::HloInstruction* call);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_LINEAR_ALGEBRA_MATRIX_SCALING_H_
