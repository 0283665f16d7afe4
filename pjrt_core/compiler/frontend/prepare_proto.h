// Checks an HloModuleProto before XLA converts it to a module.
//
// XLA's conversion and its verifier assume much of the proto, and abort the process if it does not
// hold. A caller's mistake is an error here. Stateless; any thread.
#ifndef PJRT_CORE_COMPILER_FRONTEND_PREPARE_PROTO_H_
#define PJRT_CORE_COMPILER_FRONTEND_PREPARE_PROTO_H_

#include "absl/status/status.h"
#include "xla/service/hlo.pb.h"

namespace onexpu::compiler {

// INVALID_ARGUMENT for what is no module, UNIMPLEMENTED for instructions that no later stage takes;
// both name the instruction. Fills in the layouts that are missing (row-major), and drops what the
// compiler decides for itself: a schedule and the names of threads.
absl::Status PrepareProto(xla::HloModuleProto& proto);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_FRONTEND_PREPARE_PROTO_H_
