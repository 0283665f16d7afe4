// LLVM bitcode to SPIR-V by LLVM's back end. To be called once per process: that back end keeps
// static state, and ends its process on what it does not support.
#ifndef PJRT_CORE_COMPILER_CODEGEN_LLVM_SPIRV_WORKER_EMIT_SPIRV_H_
#define PJRT_CORE_COMPILER_CODEGEN_LLVM_SPIRV_WORKER_EMIT_SPIRV_H_

#include <string>

#include "pjrt_core/fork_server/protocol.h"

namespace onexpu::compiler {

// Registers LLVM's SPIR-V target; done by the worker before it forks, so that every child finds it
// done.
void InitializeSpirvTarget();

// Emits `bitcode`. `extensions` is the value of --spirv-ext. On success *output is SPIR-V,
// otherwise a message.
fork_server::ResponseCode EmitSpirv(const std::string& bitcode, const std::string& extensions,
                                    std::string* output);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_LLVM_SPIRV_WORKER_EMIT_SPIRV_H_
