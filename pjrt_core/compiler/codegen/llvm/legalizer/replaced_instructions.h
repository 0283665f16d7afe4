// Finds the instructions that a rewrite of integer types replaces, and erases them. Free functions.
#ifndef PJRT_CORE_COMPILER_CODEGEN_LLVM_LEGALIZER_REPLACED_INSTRUCTIONS_H_
#define PJRT_CORE_COMPILER_CODEGEN_LLVM_LEGALIZER_REPLACED_INSTRUCTIONS_H_

#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/Type.h"

namespace onexpu::compiler::legalizer {

// The instructions with an operand or a result of such a type. Definitions come before their uses,
// apart from uses in phis.
std::vector<llvm::Instruction*> InstructionsWith(
    llvm::Function& function, llvm::function_ref<bool(const llvm::Type*)> is_replaced);

// Erases instructions whose values have been replaced. Only they may still use each other.
void EraseReplaced(llvm::ArrayRef<llvm::Instruction*> instructions);

}  // namespace onexpu::compiler::legalizer

#endif  // PJRT_CORE_COMPILER_CODEGEN_LLVM_LEGALIZER_REPLACED_INSTRUCTIONS_H_
