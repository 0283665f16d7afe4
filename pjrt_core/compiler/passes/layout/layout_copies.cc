#include "pjrt_core/compiler/passes/layout/layout_copies.h"

#include <cstdint>

#include "absl/status/status.h"
#include "pjrt_core/base/status_macros.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/shape.h"

namespace onexpu::compiler {

using xla::HloInstruction;

xla::Layout RowMajor(const xla::Shape& shape) {
  return xla::LayoutUtil::GetDefaultLayoutForShape(shape);
}

absl::Status CopyOperand(HloInstruction* call, int64_t operand, const xla::Layout& layout) {
  HloInstruction* value = call->mutable_operand(operand);
  xla::Shape wanted = value->shape();
  *wanted.mutable_layout() = layout;
  HloInstruction* copy = call->parent()->AddInstruction(
      HloInstruction::CreateUnary(wanted, xla::HloOpcode::kCopy, value));
  return call->ReplaceOperandWithDifferentShape(operand, copy);
}

absl::Status CopyResult(HloInstruction* call, const xla::Layout& layout) {
  const xla::Shape wanted = call->shape();
  *call->mutable_shape()->mutable_layout() = layout;
  HloInstruction* copy = call->parent()->AddInstruction(
      HloInstruction::CreateUnary(wanted, xla::HloOpcode::kCopy, call));
  ONEXPU_RETURN_IF_ERROR(call->ReplaceAllUsesWithDifferentShape(copy));
  // The copy itself was among the users.
  return copy->ReplaceOperandWithDifferentShape(0, call);
}

}  // namespace onexpu::compiler
