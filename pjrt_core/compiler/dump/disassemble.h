// SPIR-V as text. Pure function.
#ifndef PJRT_CORE_COMPILER_DUMP_DISASSEMBLE_H_
#define PJRT_CORE_COMPILER_DUMP_DISASSEMBLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace onexpu::compiler {

// The error's text when the bytes are no module.
std::string DisassembleSpirv(absl::string_view spirv);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_DUMP_DISASSEMBLE_H_
