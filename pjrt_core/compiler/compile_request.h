// One request to the compiler. The caller keeps the bytes that it refers to until the compile ends.
#ifndef PJRT_CORE_COMPILER_COMPILE_REQUEST_H_
#define PJRT_CORE_COMPILER_COMPILE_REQUEST_H_

#include <string>

#include "absl/strings/string_view.h"

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

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_COMPILE_REQUEST_H_
