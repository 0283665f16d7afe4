#include "pjrt_core/compiler/passes/numerics/plain_sum.h"

#include "pjrt_core/compiler/analysis/combine_order.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"

namespace onexpu::compiler {

bool IsPlainSum(const xla::HloInstruction& instruction) {
  if (instruction.opcode() != xla::HloOpcode::kReduce || instruction.operand_count() != 2) {
    return false;
  }
  const xla::HloInstruction& reducer = *instruction.to_apply()->root_instruction();
  const xla::HloInstruction& initial = *instruction.operand(1);
  return reducer.opcode() == xla::HloOpcode::kAdd && CombinesTwoParameters(reducer) &&
         initial.opcode() == xla::HloOpcode::kConstant && initial.literal().IsAll(0);
}

}  // namespace onexpu::compiler
