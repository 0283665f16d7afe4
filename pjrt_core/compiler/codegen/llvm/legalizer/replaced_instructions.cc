#include "pjrt_core/compiler/codegen/llvm/legalizer/replaced_instructions.h"

#include <vector>

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"

namespace onexpu::compiler::legalizer {

std::vector<llvm::Instruction*> InstructionsWith(
    llvm::Function& function, llvm::function_ref<bool(const llvm::Type*)> is_replaced) {
  std::vector<llvm::Instruction*> found;
  llvm::ReversePostOrderTraversal<llvm::Function*> order(&function);
  for (llvm::BasicBlock* block : order) {
    for (llvm::Instruction& instruction : *block) {
      if (is_replaced(instruction.getType()) ||
          llvm::any_of(instruction.operands(),
                       [&](const llvm::Use& operand) { return is_replaced(operand->getType()); })) {
        found.push_back(&instruction);
      }
    }
  }
  return found;
}

void EraseReplaced(llvm::ArrayRef<llvm::Instruction*> instructions) {
  for (llvm::Instruction* instruction : llvm::reverse(instructions)) {
    if (!instruction->use_empty()) {
      instruction->replaceAllUsesWith(llvm::PoisonValue::get(instruction->getType()));
    }
    instruction->eraseFromParent();
  }
}

}  // namespace onexpu::compiler::legalizer
