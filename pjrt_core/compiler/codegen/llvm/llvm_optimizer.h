// LLVM's O2 without vectorisers and unrolling: the device's own compiler does both, knowing its
// registers. Any thread may call, with a module and a context of its own.
#ifndef PJRT_CORE_COMPILER_CODEGEN_LLVM_LLVM_OPTIMIZER_H_
#define PJRT_CORE_COMPILER_CODEGEN_LLVM_LLVM_OPTIMIZER_H_

#include "absl/status/status.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace onexpu::compiler {

// Verifies `module`, then optimises it in place. INTERNAL with the verifier's words when the module
// is malformed: LLVM would end the process on it.
absl::Status OptimizeModule(llvm::Module& module, llvm::TargetMachine& machine);

// Simplifies what legalisation left behind; forms nothing that the legaliser would have to see
// again.
void CleanUpModule(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_LLVM_LLVM_OPTIMIZER_H_
