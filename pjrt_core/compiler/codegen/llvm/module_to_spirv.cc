#include "pjrt_core/compiler/codegen/llvm/module_to_spirv.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Support/raw_ostream.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/codegen/llvm/llvm_optimizer.h"
#include "pjrt_core/compiler/codegen/llvm/spirv_validation.h"
#include "pjrt_core/compiler/codegen/llvm/spirv_worker/spirv_client.h"

namespace onexpu::compiler {

std::string ToText(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

absl::StatusOr<std::string> ModuleToSpirv(llvm::Module& module, llvm::TargetMachine& machine,
                                          const LegalizerOptions& options,
                                          absl::string_view worker) {
  ONEXPU_RETURN_IF_ERROR(OptimizeModule(module, machine));
  ONEXPU_RETURN_IF_ERROR(LegalizeModule(module, options));
  CleanUpModule(module, machine);
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  ONEXPU_ASSIGN_OR_RETURN(
      std::string spirv,
      EmitSpirvInWorker(worker, absl::string_view(bitcode.data(), bitcode.size()),
                        UsedSpirvExtensions(module, options)));
  ONEXPU_RETURN_IF_ERROR(ValidateSpirv(spirv));
  return spirv;
}

}  // namespace onexpu::compiler
