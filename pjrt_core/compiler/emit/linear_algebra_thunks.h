// oneMKL calls as thunks: arrays with the strides that the pipeline chose. Stateless.
#ifndef PJRT_CORE_COMPILER_EMIT_LINEAR_ALGEBRA_THUNKS_H_
#define PJRT_CORE_COMPILER_EMIT_LINEAR_ALGEBRA_THUNKS_H_

#include "absl/status/statusor.h"
#include "pjrt_core/compiler/emit/memory_map.h"
#include "pjrt_core/program/program_generated.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

bool IsLinearAlgebraCall(const xla::HloInstruction& call);

// Of such a call.
absl::StatusOr<program::ThunkKindUnion> MakeLinearAlgebra(const xla::HloInstruction& call,
                                                          const MemoryMap& memory);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_EMIT_LINEAR_ALGEBRA_THUNKS_H_
