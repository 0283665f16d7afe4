#include "pjrt_core/compiler/codegen/llvm/llvm_optimizer.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/PassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/OptimizationLevel.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Scalar/DCE.h"
#include "llvm/Transforms/Scalar/LoopIdiomRecognize.h"
#include "pjrt_core/compiler/codegen/llvm/nested_selects.h"

namespace onexpu::compiler {
namespace {

// A pass builder with its analyses, which must live as long as the passes run.
class PassRun {
 public:
  PassRun(const llvm::Module& module, llvm::TargetMachine& machine) : builder_(&machine, Tuning()) {
    // Before InstCombine sees a pair, and after common subexpressions have become one operand.
    builder_.registerPipelineStartEPCallback([](llvm::ModulePassManager& passes, auto) {
      passes.addPass(llvm::createModuleToFunctionPassAdaptor(MergeNestedSelectsPass()));
    });
    builder_.registerPipelineEarlySimplificationEPCallback(
        [](llvm::ModulePassManager& passes, auto, auto) {
          passes.addPass(llvm::createModuleToFunctionPassAdaptor(MergeNestedSelectsPass()));
        });
    // What is registered first stays.
    function_analyses_.registerPass([&module] {
      return llvm::TargetLibraryAnalysis(WithoutLibrary(module.getTargetTriple()));
    });
    builder_.registerModuleAnalyses(module_analyses_);
    builder_.registerCGSCCAnalyses(cgscc_analyses_);
    builder_.registerFunctionAnalyses(function_analyses_);
    builder_.registerLoopAnalyses(loop_analyses_);
    builder_.crossRegisterProxies(loop_analyses_, function_analyses_, cgscc_analyses_,
                                  module_analyses_);
  }

  llvm::PassBuilder& builder() { return builder_; }
  void Run(llvm::ModulePassManager passes, llvm::Module& module) {
    passes.run(module, module_analyses_);
  }

 private:
  // A kernel has no C library. A loop that copies a row must stay one, too: the CPU driver takes
  // 0.9 s to build a kernel with a memcpy, and 0.03 s without.
  static llvm::TargetLibraryInfoImpl WithoutLibrary(const llvm::Triple& triple) {
    llvm::TargetLibraryInfoImpl library(triple);
    library.disableAllFunctions();
    return library;
  }
  static llvm::PipelineTuningOptions Tuning() {
    llvm::PipelineTuningOptions options;
    options.LoopVectorization = false;
    options.SLPVectorization = false;
    options.LoopInterleaving = false;
    options.LoopUnrolling = false;
    return options;
  }

  llvm::LoopAnalysisManager loop_analyses_;
  llvm::FunctionAnalysisManager function_analyses_;
  llvm::CGSCCAnalysisManager cgscc_analyses_;
  llvm::ModuleAnalysisManager module_analyses_;
  llvm::PassBuilder builder_;
};

// LLVM's default handler ends the process on an error.
struct RecordErrors final : llvm::DiagnosticHandler {
  explicit RecordErrors(std::string* errors) : errors(errors) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(*errors);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }
  std::string* errors;
};

// LLVM 22 looks for CRC computations in loops by searching the operands of a loop-carried value. It
// visits a shared operand once for each path to it, so a loop with Threefry's rounds never finishes
// compiling.
void DisableSearchForCrc() {
  // Not a namespace-scope initializer, because LLVM's own initializer would reset the option.
  static const bool done = llvm::DisableLIRP::HashRecognize = true;
  (void)done;
}

}  // namespace

absl::Status OptimizeModule(llvm::Module& module, llvm::TargetMachine& machine) {
  DisableSearchForCrc();
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  if (llvm::verifyModule(module, &stream)) {
    return absl::InternalError(
        absl::StrCat("onexpu: the generated LLVM module is invalid: ", errors));
  }
  std::unique_ptr<llvm::DiagnosticHandler> previous = module.getContext().getDiagnosticHandler();
  module.getContext().setDiagnosticHandler(std::make_unique<RecordErrors>(&errors));
  PassRun run(module, machine);
  run.Run(run.builder().buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2), module);
  module.getContext().setDiagnosticHandler(std::move(previous));
  if (!errors.empty())
    return absl::InternalError(absl::StrCat("onexpu: LLVM's optimiser: ", errors));
  return absl::OkStatus();
}

void CleanUpModule(llvm::Module& module, llvm::TargetMachine& machine) {
  PassRun run(module, machine);
  llvm::ModulePassManager passes;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::DCEPass()));
  run.Run(std::move(passes), module);
}

}  // namespace onexpu::compiler
