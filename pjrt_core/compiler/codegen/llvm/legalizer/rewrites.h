// The rewrites that the legaliser is made of, one file each. All work on one function in place and
// keep it valid.
#ifndef PJRT_CORE_COMPILER_CODEGEN_LLVM_LEGALIZER_REWRITES_H_
#define PJRT_CORE_COMPILER_CODEGEN_LLVM_LEGALIZER_REWRITES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/Module.h"
#include "pjrt_core/compiler/codegen/llvm/legalizer/options.h"

namespace onexpu::compiler::legalizer {

// Integers that the back end computes with.
inline bool IsLegalWidth(unsigned width) {
  return width == 1 || width == 8 || width == 16 || width == 32 || width == 64;
}

// "onexpu: <what>: <instruction> (kernel <name>)", UNIMPLEMENTED.
absl::Status Unsupported(absl::string_view what, const llvm::Instruction& instruction);

// Drops hints without meaning here (prefetch, assume, alias scopes).
void DropHints(llvm::Function& function);

// Vectors of booleans, of odd integers, and of lengths that SPIR-V has not, by element.
void ScalarizeVectors(llvm::Function& function);

// Phis, selects and freezes of structs and arrays, by element.
void SplitAggregates(llvm::Function& function);

// Intrinsics that the back end lacks or gets wrong, by plain instructions.
void ExpandIntrinsics(llvm::Function& function, const LegalizerOptions& options);

// Adds the offset of the global range, which is always zero, to constants that the CPU driver must
// not see: those that a value is subtracted from if the sign of the difference matters, 32 in
// arithmetic shifts of what follows from the work-item's number, and the sign bit in negations of
// functions with barriers.
void HideConstantsFromCpuDriver(llvm::Function& function);

// Atomics on 8 and 16 bits and on floats that the target has no extension for, by compare-exchange
// on whole words.
absl::Status ExpandAtomics(llvm::Function& function, const LegalizerOptions& options);

// Integers of odd widths in the next larger width, up to 128 bits.
absl::Status PromoteIntegers(llvm::Function& function);

// Integers of 128 bits in two halves.
absl::Status ExpandWideIntegers(llvm::Function& function);

// UNIMPLEMENTED for anything that is still not legal.
absl::Status CheckFunction(const llvm::Function& function, const LegalizerOptions& options);

bool HasExtension(const LegalizerOptions& options, absl::string_view name);

}  // namespace onexpu::compiler::legalizer

#endif  // PJRT_CORE_COMPILER_CODEGEN_LLVM_LEGALIZER_REWRITES_H_
