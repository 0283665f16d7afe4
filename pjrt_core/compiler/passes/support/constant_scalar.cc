#include "pjrt_core/compiler/passes/support/constant_scalar.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {

std::optional<double> ConstantScalar(const xla::HloInstruction& value) {
  using xla::HloOpcode;
  const xla::HloInstruction* scalar = &value;
  while (scalar->opcode() == HloOpcode::kBroadcast || scalar->opcode() == HloOpcode::kConvert ||
         scalar->opcode() == HloOpcode::kReshape) {
    scalar = scalar->operand(0);
  }
  if (scalar->opcode() != HloOpcode::kConstant ||
      !xla::ShapeUtil::IsEffectiveScalar(scalar->shape())) {
    return std::nullopt;
  }
  return scalar->literal().GetAsDouble(
      std::vector<int64_t>(scalar->shape().dimensions().size(), 0));
}

}  // namespace onexpu::compiler
