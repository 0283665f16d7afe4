// Confines optimised IR to what LLVM's SPIR-V back end and the devices are known to take.
//
// Runs after the optimiser, which forms several of the offenders itself: integers of odd widths,
// three-way comparisons, vectors of booleans, phis of structs. What can be expanded is; for the
// rest the answer is UNIMPLEMENTED with the instruction and the kernel, because the back end would
// end its process or, worse, be silently wrong. Any thread may call, with a module and a context of
// its own.
#ifndef PJRT_CORE_COMPILER_CODEGEN_LLVM_LEGALIZER_LEGALIZER_H_
#define PJRT_CORE_COMPILER_CODEGEN_LLVM_LEGALIZER_LEGALIZER_H_

#include <string>

#include "absl/status/status.h"
#include "llvm/IR/Module.h"
#include "pjrt_core/compiler/codegen/llvm/legalizer/options.h"

namespace onexpu::compiler {

absl::Status LegalizeModule(llvm::Module& module, const LegalizerOptions& options);

// The value of the worker's --spirv-ext: the extensions of the target that this module has a use
// for, empty for none.
std::string UsedSpirvExtensions(const llvm::Module& module, const LegalizerOptions& options);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_LLVM_LEGALIZER_LEGALIZER_H_
