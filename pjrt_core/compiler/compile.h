// One compile, from the request's bytes to a program container. Any thread; every call is on its
// own.
#ifndef PJRT_CORE_COMPILER_COMPILE_H_
#define PJRT_CORE_COMPILER_COMPILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/program/container.h"

namespace onexpu::compiler {

// What OnexpuCompileRequest holds, in C++.
struct CompileRequest {
  absl::string_view code;
  absl::string_view format;
  absl::string_view compile_options;  // serialized xla.CompileOptionsProto
  absl::string_view target;           // a FlatBuffer of program.TargetDescription
  std::string spirv_worker;
  // What XLA is known to end the process on is compiled in a child, which may die of it.
  bool may_use_child = false;
};

absl::StatusOr<program::AlignedBytes> Compile(const CompileRequest& request);

// "onexpu 0.1.0, XLA of TensorFlow 2.21.0, LLVM 22".
const std::string& CompilerVersion();

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_COMPILE_H_
