// oneDNN calls as thunks: logical tensors whose strides are the layouts that the pipeline chose.
// Stateless.
#ifndef PJRT_CORE_COMPILER_EMIT_LIBRARY_THUNKS_H_
#define PJRT_CORE_COMPILER_EMIT_LIBRARY_THUNKS_H_

#include "absl/status/statusor.h"
#include "pjrt_core/compiler/emit/memory_map.h"
#include "pjrt_core/program/program_generated.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

absl::StatusOr<program::GemmThunkT> MakeGemm(const xla::HloInstruction& call,
                                             const MemoryMap& memory);
absl::StatusOr<program::ConvolutionThunkT> MakeConvolution(const xla::HloInstruction& call,
                                                           const MemoryMap& memory);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_EMIT_LIBRARY_THUNKS_H_
