// Stores the optimised HLO of a Program without the elements of large literals
// (program/hlo_proto.h).
#ifndef PJRT_CORE_COMPILER_EMIT_HLO_STORAGE_H_
#define PJRT_CORE_COMPILER_EMIT_HLO_STORAGE_H_

#include <vector>

#include "pjrt_core/program/program_generated.h"
#include "pjrt_core/program/writer.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"

namespace onexpu::compiler {

// Fills hlo_proto and hlo_literals of `program`. Moves the large literals, whose elements become
// blobs, out of the module; they must live until Writer::Finish.
std::vector<xla::Literal> StoreHlo(xla::HloModule& module, program::Writer& writer,
                                   program::ProgramT& program);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_EMIT_HLO_STORAGE_H_
