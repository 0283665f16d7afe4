// The thunk tree and the allocations as text, for --xla_dump_to. Pure function.
#ifndef PJRT_CORE_COMPILER_EMIT_THUNK_PRINTER_H_
#define PJRT_CORE_COMPILER_EMIT_THUNK_PRINTER_H_

#include <string>

#include "pjrt_core/program/program_generated.h"

namespace onexpu::compiler {

std::string PrintThunks(const program::ProgramT& program);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_EMIT_THUNK_PRINTER_H_
