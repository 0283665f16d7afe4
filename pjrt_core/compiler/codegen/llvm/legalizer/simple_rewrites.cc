// Short rewrites of hints, vectors and aggregates.
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Scalar/Scalarizer.h"
#include "llvm/Transforms/Utils/Local.h"
#include "pjrt_core/compiler/codegen/llvm/legalizer/rewrites.h"

namespace onexpu::compiler::legalizer {
namespace {

bool IsLegalVector(const llvm::FixedVectorType& type) {
  const unsigned count = type.getNumElements();
  if (count != 2 && count != 3 && count != 4 && count != 8 && count != 16) return false;
  const llvm::Type* element = type.getElementType();
  if (!element->isIntegerTy()) return !element->isBFloatTy();
  return !element->isIntegerTy(1) && IsLegalWidth(element->getIntegerBitWidth());
}

bool IsIllegalVector(const llvm::Type* type) {
  if (!type->isVectorTy()) return false;
  const auto* fixed = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return fixed == nullptr || !IsLegalVector(*fixed);
}

bool UsesIllegalVectors(const llvm::Function& function) {
  for (const llvm::BasicBlock& block : function) {
    for (const llvm::Instruction& instruction : block) {
      if (IsIllegalVector(instruction.getType())) return true;
      for (const llvm::Use& operand : instruction.operands()) {
        if (IsIllegalVector(operand->getType())) return true;
      }
    }
  }
  return false;
}

// Casts between a vector and a scalar, which the scalariser leaves alone, as shifts.
void ExpandVectorCasts(llvm::Function& function) {
  std::vector<llvm::BitCastInst*> casts;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      auto* cast = llvm::dyn_cast<llvm::BitCastInst>(&instruction);
      if (cast != nullptr && cast->getSrcTy()->isVectorTy() != cast->getDestTy()->isVectorTy() &&
          (IsIllegalVector(cast->getSrcTy()) || IsIllegalVector(cast->getDestTy()))) {
        casts.push_back(cast);
      }
    }
  }
  for (llvm::BitCastInst* cast : casts) {
    llvm::IRBuilder<> b(cast);
    const bool from_vector = cast->getSrcTy()->isVectorTy();
    auto* vector_type =
        llvm::cast<llvm::FixedVectorType>(from_vector ? cast->getSrcTy() : cast->getDestTy());
    llvm::Type* scalar_type = from_vector ? cast->getDestTy() : cast->getSrcTy();
    llvm::Type* element_type = vector_type->getElementType();
    const unsigned bits = element_type->getPrimitiveSizeInBits();
    llvm::Type* word = b.getIntNTy(bits * vector_type->getNumElements());
    llvm::Type* element_bits = b.getIntNTy(bits);
    if (from_vector) {
      llvm::Value* whole = llvm::ConstantInt::get(word, 0);
      for (unsigned i = 0; i < vector_type->getNumElements(); ++i) {
        llvm::Value* element =
            b.CreateBitCast(b.CreateExtractElement(cast->getOperand(0), i), element_bits);
        whole = b.CreateOr(whole, b.CreateShl(b.CreateZExt(element, word), i * bits));
      }
      cast->replaceAllUsesWith(b.CreateBitCast(whole, scalar_type));
    } else {
      llvm::Value* whole = b.CreateBitCast(cast->getOperand(0), word);
      llvm::Value* vector = llvm::PoisonValue::get(vector_type);
      for (unsigned i = 0; i < vector_type->getNumElements(); ++i) {
        llvm::Value* element = b.CreateTrunc(b.CreateLShr(whole, i * bits), element_bits);
        vector = b.CreateInsertElement(vector, b.CreateBitCast(element, element_type), i);
      }
      cast->replaceAllUsesWith(vector);
    }
    cast->eraseFromParent();
  }
}

using Path = llvm::SmallVector<unsigned, 4>;

void CollectLeaves(llvm::Type* type, Path& path, std::vector<Path>& leaves) {
  const unsigned count = type->isStructTy()  ? type->getStructNumElements()
                         : type->isArrayTy() ? static_cast<unsigned>(type->getArrayNumElements())
                                             : 0;
  if (!type->isAggregateType()) {
    leaves.push_back(path);
    return;
  }
  for (unsigned i = 0; i < count; ++i) {
    path.push_back(i);
    CollectLeaves(type->isStructTy() ? type->getStructElementType(i) : type->getArrayElementType(),
                  path, leaves);
    path.pop_back();
  }
}

llvm::Value* Extract(llvm::Value* aggregate, const Path& path, llvm::Instruction* before) {
  if (llvm::Value* inserted = llvm::FindInsertedValue(aggregate, path, before->getIterator()))
    return inserted;
  return llvm::IRBuilder<>(before).CreateExtractValue(aggregate, path);
}

// Replaces one instruction by one per leaf, and the aggregate by its reconstruction, which later
// folds away.
void SplitInstruction(llvm::Instruction& instruction) {
  Path path;
  std::vector<Path> leaves;
  CollectLeaves(instruction.getType(), path, leaves);
  llvm::Instruction* after = llvm::isa<llvm::PHINode>(instruction)
                                 ? &*instruction.getParent()->getFirstInsertionPt()
                                 : &instruction;
  llvm::Value* whole = llvm::PoisonValue::get(instruction.getType());
  std::vector<llvm::PHINode*> phis;
  for (const Path& leaf : leaves) {
    llvm::Value* part = nullptr;
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
      llvm::Type* type = llvm::ExtractValueInst::getIndexedType(phi->getType(), leaf);
      phis.push_back(
          llvm::PHINode::Create(type, phi->getNumIncomingValues(), "", phi->getIterator()));
      part = phis.back();
    } else if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
      llvm::Value* on_true = Extract(select->getTrueValue(), leaf, select);
      llvm::Value* on_false = Extract(select->getFalseValue(), leaf, select);
      part = llvm::IRBuilder<>(select).CreateSelect(select->getCondition(), on_true, on_false);
    } else {
      llvm::Value* frozen = Extract(instruction.getOperand(0), leaf, &instruction);
      part = llvm::IRBuilder<>(&instruction).CreateFreeze(frozen);
    }
    whole = llvm::IRBuilder<>(after).CreateInsertValue(whole, part, leaf);
  }
  if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
      llvm::BasicBlock* block = phi->getIncomingBlock(i);
      for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        // One block may enter by several edges, which must bring the same value.
        const int earlier = phis[leaf]->getBasicBlockIndex(block);
        llvm::Value* value =
            earlier >= 0 ? phis[leaf]->getIncomingValue(earlier)
                         : Extract(phi->getIncomingValue(i), leaves[leaf], block->getTerminator());
        phis[leaf]->addIncoming(value, block);
      }
    }
  }
  instruction.replaceAllUsesWith(whole);
  instruction.eraseFromParent();
}

// extractvalue of what insertvalues built.
void FoldExtracts(llvm::Function& function) {
  std::vector<llvm::Instruction*> dead;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
      auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction);
      if (extract == nullptr) continue;
      llvm::Value* value = llvm::FindInsertedValue(extract->getAggregateOperand(),
                                                   extract->getIndices(), extract->getIterator());
      if (value == nullptr) continue;
      extract->replaceAllUsesWith(value);
      extract->eraseFromParent();
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::reverse(block))) {
        if (!llvm::isa<llvm::InsertValueInst>(instruction) || !instruction.use_empty()) continue;
        instruction.eraseFromParent();
        changed = true;
      }
    }
  }
}

}  // namespace

absl::Status Unsupported(absl::string_view what, const llvm::Instruction& instruction) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  instruction.print(stream);
  return absl::UnimplementedError(absl::StrCat("onexpu: ", what, " in generated code:", text,
                                               " (kernel ",
                                               instruction.getFunction()->getName().str(), ")"));
}

bool HasExtension(const LegalizerOptions& options, absl::string_view name) {
  return absl::c_linear_search(options.spirv_extensions, name);
}

void DropHints(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
      const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (intrinsic == nullptr) continue;
      switch (intrinsic->getIntrinsicID()) {
        case llvm::Intrinsic::assume:
        case llvm::Intrinsic::prefetch:
        case llvm::Intrinsic::experimental_noalias_scope_decl:
        case llvm::Intrinsic::donothing:
        case llvm::Intrinsic::sideeffect:
          instruction.eraseFromParent();
          break;
        default:
          break;
      }
    }
  }
}

void ScalarizeVectors(llvm::Function& function) {
  if (!UsesIllegalVectors(function)) return;
  ExpandVectorCasts(function);
  llvm::LoopAnalysisManager loop_analyses;
  llvm::FunctionAnalysisManager function_analyses;
  llvm::CGSCCAnalysisManager cgscc_analyses;
  llvm::ModuleAnalysisManager module_analyses;
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(module_analyses);
  builder.registerCGSCCAnalyses(cgscc_analyses);
  builder.registerFunctionAnalyses(function_analyses);
  builder.registerLoopAnalyses(loop_analyses);
  builder.crossRegisterProxies(loop_analyses, function_analyses, cgscc_analyses, module_analyses);
  llvm::ScalarizerPassOptions options;
  options.ScalarizeLoadStore = true;
  options.ScalarizeVariableInsertExtract = true;
  llvm::ScalarizerPass(options).run(function, function_analyses);
}

void SplitAggregates(llvm::Function& function) {
  std::vector<llvm::Instruction*> found;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (instruction.getType()->isAggregateType() &&
          llvm::isa<llvm::PHINode, llvm::SelectInst, llvm::FreezeInst>(instruction)) {
        found.push_back(&instruction);
      }
    }
  }
  if (found.empty()) return;
  for (llvm::Instruction* instruction : found) SplitInstruction(*instruction);
  FoldExtracts(function);
}

}  // namespace onexpu::compiler::legalizer
