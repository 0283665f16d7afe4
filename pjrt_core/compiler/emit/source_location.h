// Where an HLO instruction comes from, for errors and profiles. Pure functions.
#ifndef PJRT_CORE_COMPILER_EMIT_SOURCE_LOCATION_H_
#define PJRT_CORE_COMPILER_EMIT_SOURCE_LOCATION_H_

#include <string>

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// "model.py:12 (jit(f)/dot_general)", or what is known of it.
std::string SourceLocation(const xla::HloInstruction& instruction);

// The error with "onexpu:" before it and "(op %name = shape opcode(shapes); source)" behind it,
// unless it has them.
absl::Status WithInstruction(const absl::Status& status, const xla::HloInstruction& instruction);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_EMIT_SOURCE_LOCATION_H_
