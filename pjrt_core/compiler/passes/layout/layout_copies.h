// Copies around a call that cannot take an operand, or write its result, in the layout that layout
// assignment chose. Stateless.
#ifndef PJRT_CORE_COMPILER_PASSES_LAYOUT_LAYOUT_COPIES_H_
#define PJRT_CORE_COMPILER_PASSES_LAYOUT_LAYOUT_COPIES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/layout.h"

namespace onexpu::compiler {

// The operand in this layout.
absl::Status CopyOperand(xla::HloInstruction* call, int64_t operand, const xla::Layout& layout);
// The call writes an array of this layout; its users read a copy in the one that they had.
absl::Status CopyResult(xla::HloInstruction* call, const xla::Layout& layout);

xla::Layout RowMajor(const xla::Shape& shape);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_LAYOUT_LAYOUT_COPIES_H_
