// What passes and kernels ask about dots. Those that become kernels of blocks (dot_block.h) want
// the last dimension of the result, its columns, to belong to one of the operands, and neighbouring
// columns to be neighbours in that operand's memory. Pure functions.
#ifndef PJRT_CORE_COMPILER_ANALYSIS_DOT_QUERIES_H_
#define PJRT_CORE_COMPILER_ANALYSIS_DOT_QUERIES_H_

#include <cstdint>
#include <optional>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/layout.h"

namespace onexpu::compiler {

// Products up to which a loop for each element is as good as anything.
inline constexpr int64_t kMaxElementLoopProducts = 32 << 10;

// Columns below which a vector of work-items would be mostly empty.
inline constexpr int64_t kMinBlockColumns = 8;

// Rows that a kernel of dots has at a time: enough sums that no addition waits for the one before,
// few enough for the registers.
inline constexpr int64_t kDotRows = 8;

// Multiply-adds.
int64_t Products(const xla::HloInstruction& dot);

// Whether every turn of the loop around it finds `value`, or what it transposes, unchanged.
bool IsLoopInvariant(const xla::HloInstruction& value);

// Whether `instruction` is a dot or a fusion with one.
bool ContainsDot(const xla::HloInstruction& instruction);

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

#endif  // PJRT_CORE_COMPILER_ANALYSIS_DOT_QUERIES_H_
