#include "pjrt_core/compiler/codegen/llvm/legalizer/legalizer.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/Casting.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/Local.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/codegen/llvm/legalizer/rewrites.h"

namespace onexpu::compiler {
namespace {

constexpr char kFloatAtomicAdd[] = "SPV_EXT_shader_atomic_float_add";
constexpr char kFloatAtomicMinMax[] = "SPV_EXT_shader_atomic_float_min_max";
constexpr char kBitInstructions[] = "SPV_KHR_bit_instructions";
constexpr char kSubgroups[] = "SPV_INTEL_subgroups";

// Null for an instruction that core SPIR-V has.
const char* ExtensionOf(const llvm::Instruction& instruction) {
  if (const auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    switch (atomic->getOperation()) {
      case llvm::AtomicRMWInst::FAdd:
      case llvm::AtomicRMWInst::FSub:
        return kFloatAtomicAdd;
      case llvm::AtomicRMWInst::FMin:
      case llvm::AtomicRMWInst::FMax:
        return kFloatAtomicMinMax;
      default:
        return nullptr;
    }
  }
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (call == nullptr || call->getCalledFunction() == nullptr) return nullptr;
  if (call->getIntrinsicID() == llvm::Intrinsic::bitreverse) return kBitInstructions;
  const llvm::StringRef name = call->getCalledFunction()->getName();
  return name.contains("intel_sub_group") ? kSubgroups : nullptr;
}

absl::Status LegalizeFunction(llvm::Function& function, const LegalizerOptions& options) {
  llvm::removeUnreachableBlocks(function);
  legalizer::DropHints(function);
  legalizer::ScalarizeVectors(function);
  legalizer::SplitAggregates(function);
  ONEXPU_RETURN_IF_ERROR(legalizer::ExpandAtomics(function, options));
  legalizer::ExpandIntrinsics(function, options);
  ONEXPU_RETURN_IF_ERROR(legalizer::PromoteIntegers(function));
  ONEXPU_RETURN_IF_ERROR(legalizer::ExpandWideIntegers(function));
  // Last, because the other rewrites create such shifts.
  if (options.is_for_cpu_driver) legalizer::HideConstantsFromCpuDriver(function);
  return legalizer::CheckFunction(function, options);
}

}  // namespace

absl::Status LegalizeModule(llvm::Module& module, const LegalizerOptions& options) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) ONEXPU_RETURN_IF_ERROR(LegalizeFunction(function, options));
  }
  // Declarations that no call is left for: of the intrinsics that were expanded, for instance.
  for (auto next = module.begin(); next != module.end();) {
    llvm::Function& function = *next++;
    if (function.isDeclaration() && function.use_empty()) function.eraseFromParent();
  }
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  if (llvm::verifyModule(module, &stream)) {
    return absl::InternalError(
        absl::StrCat("onexpu: legalisation left an invalid LLVM module: ", errors));
  }
  return absl::OkStatus();
}

std::string UsedSpirvExtensions(const llvm::Module& module, const LegalizerOptions& options) {
  std::vector<std::string> used;
  for (const llvm::Function& function : module) {
    for (const llvm::BasicBlock& block : function) {
      for (const llvm::Instruction& instruction : block) {
        const char* extension = ExtensionOf(instruction);
        if (extension == nullptr || !legalizer::HasExtension(options, extension)) continue;
        const std::string allowed = absl::StrCat("+", extension);
        if (std::find(used.begin(), used.end(), allowed) == used.end()) used.push_back(allowed);
      }
    }
  }
  return absl::StrJoin(used, ",");
}

}  // namespace onexpu::compiler
