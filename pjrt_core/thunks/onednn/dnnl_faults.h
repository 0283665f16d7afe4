// What the table of known faults (library_faults/table.h) needs to know about oneDNN and operands.
#ifndef PJRT_CORE_THUNKS_ONEDNN_DNNL_FAULTS_H_
#define PJRT_CORE_THUNKS_ONEDNN_DNNL_FAULTS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/library_faults/operand_type.h"
#include "pjrt_core/library_faults/table.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu {

library_faults::Version DnnlVersion();
library_faults::OperandType OperandTypeOf(program::ElementType type);

// UNIMPLEMENTED, for an operation ("matmul") all of whose implementations have a known fault.
absl::Status NoImplementationWithoutFault(absl::string_view operation,
                                          const library_faults::Fault& fault);

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEDNN_DNNL_FAULTS_H_
