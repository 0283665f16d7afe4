#include "pjrt_core/compiler/codegen/llvm/spirv_worker/emit_spirv.h"

#include <memory>
#include <optional>
#include <vector>

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

extern "C" {
void LLVMInitializeSPIRVTarget();
void LLVMInitializeSPIRVTargetInfo();
void LLVMInitializeSPIRVTargetMC();
void LLVMInitializeSPIRVAsmPrinter();
}

namespace onexpu::compiler {
namespace {

using fork_server::ResponseCode;

// The back end reads these from LLVM's command line only. Two passes are off that run after our
// legaliser: CodeGenPrepare forms integer widths that the back end does not know; loop strength
// reduction forms truncations that it selects into operands of the wrong width (an invalid module).
bool SetBackEndOptions(const std::string& extensions, std::string* error) {
  std::vector<std::string> arguments = {"onexpu-spirv", "--disable-cgp", "--disable-lsr"};
  if (!extensions.empty()) arguments.push_back("--spirv-ext=" + extensions);
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  llvm::raw_string_ostream stream(*error);
  return llvm::cl::ParseCommandLineOptions(static_cast<int>(pointers.size()), pointers.data(), "",
                                           &stream);
}

}  // namespace

void InitializeSpirvTarget() {
  LLVMInitializeSPIRVTargetInfo();
  LLVMInitializeSPIRVTarget();
  LLVMInitializeSPIRVTargetMC();
  LLVMInitializeSPIRVAsmPrinter();
}

ResponseCode EmitSpirv(const std::string& bitcode, const std::string& extensions,
                       std::string* output) {
  if (!SetBackEndOptions(extensions, output)) return ResponseCode::kInternal;

  llvm::LLVMContext context;
  llvm::Expected<std::unique_ptr<llvm::Module>> module =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "module"), context);
  if (!module) {
    *output = llvm::toString(module.takeError());
    return ResponseCode::kInvalidInput;
  }
  llvm::raw_string_ostream verifier_message(*output);
  if (llvm::verifyModule(**module, &verifier_message)) return ResponseCode::kInvalidInput;

  const llvm::Triple& triple = (*module)->getTargetTriple();
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, *output);
  if (target == nullptr) return ResponseCode::kInvalidInput;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, "", "", llvm::TargetOptions(), std::nullopt, std::nullopt,
                                  llvm::CodeGenOptLevel::Default));

  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    *output = "LLVM's SPIR-V target cannot write object files";
    return ResponseCode::kInternal;
  }
  passes.run(**module);
  output->assign(buffer.begin(), buffer.end());
  return ResponseCode::kOk;
}

}  // namespace onexpu::compiler
