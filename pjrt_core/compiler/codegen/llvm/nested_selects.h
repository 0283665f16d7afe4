// Merges a floating-point select whose arm is another select over the same operand.
//
// LLVM's InstCombine (22.1.8, and the copies of it inside the CPU driver and IGC) folds such pairs
// as if they were nested minima and maxima, max(max(a, b), b) = max(a, b), without comparing what
// the two selects do with NaN: `where(y > 0, y, 0)` of `y = where(x < 0, 0, x)` became NaN for NaN
// instead of 0 (foldSPFofSPF in InstCombineSelect.cpp). A merged pair has nothing left to fold.
#ifndef PJRT_CORE_COMPILER_CODEGEN_LLVM_NESTED_SELECTS_H_
#define PJRT_CORE_COMPILER_CODEGEN_LLVM_NESTED_SELECTS_H_

#include "llvm/IR/Function.h"
#include "llvm/IR/PassManager.h"

namespace onexpu::compiler {

// Rewrites select(c, select(d, a, b), b) as select(d and c, a, b), and the forms with swapped arms.
// Changes no value: if the inner select yields b, both arms of the outer one are b.
class MergeNestedSelectsPass : public llvm::PassInfoMixin<MergeNestedSelectsPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_LLVM_NESTED_SELECTS_H_
