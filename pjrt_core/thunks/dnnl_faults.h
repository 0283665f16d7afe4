// What the table of known faults (library_faults/table.h) needs to know about oneDNN and operands.
#ifndef PJRT_CORE_THUNKS_DNNL_FAULTS_H_
#define PJRT_CORE_THUNKS_DNNL_FAULTS_H_

#include "pjrt_core/library_faults/operand_type.h"
#include "pjrt_core/library_faults/table.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu {

library_faults::Version DnnlVersion();
library_faults::OperandType OperandTypeOf(program::ElementType type);

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_DNNL_FAULTS_H_
