// An HloModuleProto that nobody has checked, before XLA makes a module of it.
//
// XLA's conversion and its verifier take much for granted, and end the process where it does not
// hold. What a caller can get wrong there is an error here. Stateless; any thread.
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
