#include "pjrt_core/compiler/codegen/llvm/nested_selects.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

namespace onexpu::compiler {
namespace {

using llvm::SelectInst;
using llvm::Value;

// `condition`, in which a direct comparison of `select` becomes one of `arm`: it is evaluated only
// if `select` yields `arm`. Comparisons of the same operands fold into one later.
Value* ForArm(Value* condition, SelectInst* select, Value* arm, llvm::IRBuilder<>& b) {
  auto* compare = llvm::dyn_cast<llvm::FCmpInst>(condition);
  if (compare == nullptr || !llvm::is_contained(compare->operands(), select)) return condition;
  const auto replaced = [&](Value* operand) { return operand == select ? arm : operand; };
  return b.CreateFCmp(compare->getPredicate(), replaced(compare->getOperand(0)),
                      replaced(compare->getOperand(1)));
}

// The replacement of `outer`, whose arm `inner` is selected if its condition is `inner_if`; null if
// they share no operand.
Value* Merge(SelectInst& outer, bool inner_if) {
  auto* inner = llvm::dyn_cast<SelectInst>(inner_if ? outer.getTrueValue() : outer.getFalseValue());
  Value* shared = inner_if ? outer.getFalseValue() : outer.getTrueValue();
  if (inner == nullptr || inner->getCondition()->getType() != outer.getCondition()->getType()) {
    return nullptr;
  }
  if (inner->getTrueValue() == inner->getFalseValue()) return nullptr;  // LLVM folds it
  const bool shares_false = inner->getFalseValue() == shared;
  if (!shares_false && inner->getTrueValue() != shared) return nullptr;
  Value* other = shares_false ? inner->getTrueValue() : inner->getFalseValue();

  llvm::IRBuilder<> b(&outer);
  Value* yields_other = shares_false ? inner->getCondition() : b.CreateNot(inner->getCondition());
  Value* takes_inner = ForArm(outer.getCondition(), inner, other, b);
  if (!inner_if) takes_inner = b.CreateNot(takes_inner);
  // Logical: a comparison of what the inner select does not yield may be poison.
  return b.CreateSelect(b.CreateLogicalAnd(yields_other, takes_inner), other, shared);
}

}  // namespace

llvm::PreservedAnalyses MergeNestedSelectsPass::run(llvm::Function& function,
                                                    llvm::FunctionAnalysisManager&) {
  bool changed = false;
  // In order, so that a chain of selects collapses from its start.
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* outer = llvm::dyn_cast<SelectInst>(&instruction);
    if (outer == nullptr || !outer->getType()->isFPOrFPVectorTy()) continue;
    Value* merged = Merge(*outer, /*inner_if=*/true);
    if (merged == nullptr) merged = Merge(*outer, /*inner_if=*/false);
    if (merged == nullptr) continue;
    outer->replaceAllUsesWith(merged);
    outer->eraseFromParent();
    changed = true;
  }
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace onexpu::compiler
