#include "pjrt_core/compiler/passes/control_flow/single_scatter_expander.h"

#include <cstdint>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/primitive_util.h"

namespace onexpu::compiler {

bool SingleScatterExpander::InstructionMatchesPattern(xla::HloInstruction* instruction) {
  if (!xla::ScatterExpander::InstructionMatchesPattern(instruction)) return false;
  const auto* scatter = xla::Cast<xla::HloScatterInstruction>(instruction);
  // The pass compares indices with the operand's sizes, in the type of the indices.
  const xla::PrimitiveType type = scatter->scatter_indices()->shape().element_type();
  const int bits = xla::primitive_util::BitWidth(type) -
                   (xla::primitive_util::IsSignedIntegralType(type) ? 1 : 0);
  return absl::c_all_of(
      scatter->scatter_operands().front()->shape().dimensions(),
      [&](int64_t size) { return bits >= 63 || size <= (int64_t{1} << bits) - 1; });
}

}  // namespace onexpu::compiler
