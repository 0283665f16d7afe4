// Transposition of whole tiles in registers: a line of the cache is used up by a square or two.
#ifndef PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_TRANSPOSE_SQUARES_H_
#define PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_TRANSPOSE_SQUARES_H_

#include "absl/status/status.h"
#include "pjrt_core/compiler/codegen/elemental/fusion_context.h"
#include "pjrt_core/compiler/codegen/schedules/transposition.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {

// Whether elements of `type` are moved so.
bool HasSquares(xla::PrimitiveType type);

// Moves a whole tile, which `tiles` has located, of a result that is nothing but `lines`.
absl::Status MoveSquares(FusionContext& kernel, const Lines& lines, const Tiles& tiles);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_SCHEDULES_TRANSPOSE_SQUARES_H_
