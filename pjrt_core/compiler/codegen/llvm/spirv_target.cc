#include "pjrt_core/compiler/codegen/llvm/spirv_target.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Triple.h"

extern "C" {
void LLVMInitializeSPIRVTarget();
void LLVMInitializeSPIRVTargetInfo();
void LLVMInitializeSPIRVTargetMC();
}

namespace onexpu::compiler {

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> CreateSpirvTargetMachine() {
  static const bool initialized = [] {
    LLVMInitializeSPIRVTargetInfo();
    LLVMInitializeSPIRVTarget();
    LLVMInitializeSPIRVTargetMC();
    return true;
  }();
  (void)initialized;
  const llvm::Triple triple(kSpirvTriple);
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr)
    return absl::InternalError(absl::StrCat("onexpu: LLVM has no SPIR-V target: ", error));
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, "", "", llvm::TargetOptions(), std::nullopt, std::nullopt,
                                  llvm::CodeGenOptLevel::Default));
  if (machine == nullptr)
    return absl::InternalError("onexpu: LLVM cannot make a SPIR-V target machine");
  return machine;
}

std::unique_ptr<llvm::Module> CreateSpirvModule(const std::string& name, llvm::LLVMContext& context,
                                                const llvm::TargetMachine& machine) {
  auto module = std::make_unique<llvm::Module>(name, context);
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());
  return module;
}

}  // namespace onexpu::compiler
