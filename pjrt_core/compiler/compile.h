// One compile, from the request's bytes to a program container. Any thread; every call is on its
// own.
#ifndef PJRT_CORE_COMPILER_COMPILE_H_
#define PJRT_CORE_COMPILER_COMPILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "pjrt_core/compiler/compile_request.h"
#include "pjrt_core/program/container.h"

namespace onexpu::compiler {

absl::StatusOr<program::AlignedBytes> Compile(const CompileRequest& request);

// "onexpu 0.1.0, XLA of TensorFlow 2.21.0, LLVM 22".
const std::string& CompilerVersion();

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_COMPILE_H_
