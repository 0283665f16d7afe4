// Custom calls of XLA FFI as thunks. Stateless.
#ifndef PJRT_CORE_COMPILER_EMIT_CUSTOM_CALL_H_
#define PJRT_CORE_COMPILER_EMIT_CUSTOM_CALL_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/emit/memory_map.h"
#include "pjrt_core/program/program_generated.h"
#include "xla/hlo/ir/hlo_instructions.h"

namespace onexpu::compiler {

// UNIMPLEMENTED for calls of another convention.
absl::StatusOr<program::CustomCallThunkT> MakeCustomCall(const xla::HloCustomCallInstruction& call,
                                                         const MemoryMap& memory);

// True for calls that only kept their operands from being removed.
bool OnlyKeepsOperands(absl::string_view target);

// True for handlers that are known to run host code: the launching thread waits for them.
bool WaitsForHost(absl::string_view target);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_EMIT_CUSTOM_CALL_H_
