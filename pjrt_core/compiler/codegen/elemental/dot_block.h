// Dots in kernels: a work-item has one column of the result, or a few, and computes several rows of
// it at once. An element of the operand that has the columns is loaded once for all rows,
// neighbouring work-items load neighbouring elements, and the other operand's elements are the same
// for all work-items. A CPU's compiler makes that the inner loop of a matrix product. Stateless.
#ifndef PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_DOT_BLOCK_H_
#define PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_DOT_BLOCK_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "pjrt_core/compiler/codegen/elemental/fusion_context.h"
#include "pjrt_core/compiler/codegen/elemental/ir_index.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// The operands' indices for one element of the result; what is contracted is filled in by Contract.
struct DotIndices {
  DotIndices(const xla::HloInstruction& dot, absl::Span<llvm::Value* const> result);

  // `counters`: the places in the contracted dimensions, in the order of the dot's numbers.
  void Contract(const xla::HloInstruction& dot, absl::Span<llvm::Value* const> counters);

  std::vector<llvm::Value*> lhs;
  std::vector<llvm::Value*> rhs;
};

std::vector<int64_t> ContractedExtents(const xla::HloInstruction& dot);

// The dots that `roots`, arrays of the same dimensions, compute element by element. Empty where
// that is none, where anything but elementwise work lies between a dot and a root, or where the
// last dimension is part of a batch.
std::vector<const xla::HloInstruction*> FindBlockedDots(
    const FusionContext& kernel, absl::Span<const xla::HloInstruction* const> roots);

// Computes the dots at each of `cells`, rows by columns, and calls `store` for each with the dots'
// values bound.
absl::Status EmitDotBlock(FusionContext& kernel, absl::Span<const xla::HloInstruction* const> dots,
                          absl::Span<const Index> cells,
                          absl::FunctionRef<absl::Status(const Index&)> store);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_DOT_BLOCK_H_
