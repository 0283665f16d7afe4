// The way from generated LLVM IR to SPIR-V: optimise, legalise, emit in the worker.
// Any thread may call, with a module and a context of its own.
#ifndef PJRT_CORE_COMPILER_CODEGEN_LLVM_MODULE_TO_SPIRV_H_
#define PJRT_CORE_COMPILER_CODEGEN_LLVM_MODULE_TO_SPIRV_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "pjrt_core/compiler/codegen/llvm/legalizer/legalizer.h"

namespace onexpu::compiler {

// The textual IR of a module, for dumps.
std::string ToText(const llvm::Module& module);

// Leaves `module` optimised and legalised. `worker` is the path of onexpu-spirv.
absl::StatusOr<std::string> ModuleToSpirv(llvm::Module& module, llvm::TargetMachine& machine,
                                          const LegalizerOptions& options,
                                          absl::string_view worker);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_LLVM_MODULE_TO_SPIRV_H_
