// What the passes ask about dots that become kernels of blocks (codegen/dot_block.h): the last
// dimension of the result, its columns, belongs to one of the operands, and neighbouring columns
// are to be neighbours in that operand's memory. Pure functions.
#ifndef PJRT_CORE_COMPILER_PASSES_DOT_COLUMNS_H_
#define PJRT_CORE_COMPILER_PASSES_DOT_COLUMNS_H_

#include <cstdint>
#include <optional>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/layout.h"

namespace onexpu::compiler {

// Multiply-adds.
int64_t Products(const xla::HloInstruction& dot);

// Whether `instruction` is a dot with so many products that it must not be computed element by
// element: it keeps a kernel to itself and the elementwise work on it.
bool IsBlockedDot(const xla::HloInstruction& instruction);

// The operand that has the columns, and which of its dimensions they are.
struct DotColumns {
  int64_t operand;
  int64_t dimension;
};
// Nothing when the last dimension of the result is a batch, or there is none.
std::optional<DotColumns> ColumnsOf(const xla::HloInstruction& dot);

// The layout with columns next to each other, then the contracted dimensions.
xla::Layout LayoutByColumns(const xla::HloInstruction& dot, const DotColumns& columns);

// Before layouts are assigned: whether the columns will lie like that without a copy for each run
// of the dot, which what lies otherwise in an argument would need.
bool LieSideBySide(const xla::HloInstruction& dot, const DotColumns& columns);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_DOT_COLUMNS_H_
