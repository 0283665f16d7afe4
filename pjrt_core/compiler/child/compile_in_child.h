// Compiles in a process of its own, which may die of a failed CHECK without harm
// (ONEXPU_COMPILE=process). Any thread; one process per compile.
#ifndef PJRT_CORE_COMPILER_CHILD_COMPILE_IN_CHILD_H_
#define PJRT_CORE_COMPILER_CHILD_COMPILE_IN_CHILD_H_

#include "absl/status/statusor.h"
#include "pjrt_core/compiler/compile_request.h"
#include "pjrt_core/program/container.h"

namespace onexpu::compiler {

// Starts `onexpu-compile`, which lies next to this library. INTERNAL when the child dies, with its
// signal.
absl::StatusOr<program::AlignedBytes> CompileInChild(const CompileRequest& request);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CHILD_COMPILE_IN_CHILD_H_
