// HLO around a factorisation that keeps the squares of elements within the range of their type.
// Stateless.
#ifndef PJRT_CORE_COMPILER_PASSES_MATRIX_SCALING_H_
#define PJRT_CORE_COMPILER_PASSES_MATRIX_SCALING_H_

#include "absl/status/statusor.h"
#include "pjrt_core/compiler/passes/matrix_guards.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// What of a result grows with the matrices. The other results, and the rest of this one, do not.
struct ScaledResult {
  int64_t index;  // in the tuple of results
  MatrixPart part;
};

// XLA's expanders of Qr and Eigh sum squares, which underflow or overflow for elements that LAPACK
// accepts. Divides the matrices of the first operand, which are F32, F64, C64 or C128, by powers of
// two, so that the largest element of each that is read is in [1, 2), and multiplies the result by
// them. Replaces `call`; returns the factorisation of the scaled matrices.
absl::StatusOr<xla::HloInstruction*> ScaleMatrices(xla::HloInstruction* call, MatrixPart read,
                                                   ScaledResult scaled);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_MATRIX_SCALING_H_
