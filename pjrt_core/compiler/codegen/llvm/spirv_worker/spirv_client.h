// The compiler library's side of `onexpu-spirv`: sends a module as bitcode, gets SPIR-V.
// Thread-safe.
#ifndef PJRT_CORE_COMPILER_CODEGEN_LLVM_SPIRV_WORKER_SPIRV_CLIENT_H_
#define PJRT_CORE_COMPILER_CODEGEN_LLVM_SPIRV_WORKER_SPIRV_CLIENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onexpu::compiler {

// Emits `bitcode`, written by this LLVM, by the program at path `worker`. `extensions` is the value
// of --spirv-ext, empty for none. NOT_FOUND when the worker cannot be started, UNIMPLEMENTED when
// the back end refuses the module, INTERNAL when it crashes; the latter two keep the module in a
// file and name it.
absl::StatusOr<std::string> EmitSpirvInWorker(absl::string_view worker, absl::string_view bitcode,
                                              absl::string_view extensions);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_LLVM_SPIRV_WORKER_SPIRV_CLIENT_H_
