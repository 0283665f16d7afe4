// What oneDNN computes with on a target, and how. Pure functions.
#ifndef PJRT_CORE_COMPILER_PASSES_ONEDNN_LIBRARY_TYPES_H_
#define PJRT_CORE_COMPILER_PASSES_ONEDNN_LIBRARY_TYPES_H_

#include <cstdint>

#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {

// The type in which the operands of `product`, a kDot or a kConvolution, are handed over: their
// own, a wider one that holds both exactly, or PRIMITIVE_TYPE_INVALID when no library has it or its
// result.
xla::PrimitiveType LibraryType(const xla::HloInstruction& product, const Target& target);

// The type of what the library gives for a product of `operands` whose result is `result`.
xla::PrimitiveType LibraryResultType(xla::PrimitiveType operands, xla::PrimitiveType result);

// Whether `product`, a kDot or an onednn-matmul whose result begins with `batch_dimensions`
// dimensions of a batch, is called as BLAS (cpu_device/blas_gemm.h): one f32 matrix times
// another, on a CPU.
bool IsCalledAsBlas(const xla::HloInstruction& product, int64_t batch_dimensions,
                    const Target& target);

// `value` in another element type; itself when it has that already. The conversion stands below the
// transpositions and reshapes that make `value` for its one user: there it becomes part of the
// kernel that computes the elements, and what is reduced along rows stays rows.
xla::HloInstruction* ConvertTo(xla::PrimitiveType type, xla::HloInstruction* value);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_ONEDNN_LIBRARY_TYPES_H_
