#include "pjrt_core/compiler/passes/fusion/sibling_fusion.h"

#include <cstdint>

#include "absl/algorithm/container.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/passes/fusion/fusible.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {

using xla::HloInstruction;
using xla::HloOpcode;

bool SiblingFusion::ShapesCompatibleForFusion(HloInstruction* first, HloInstruction* second) {
  // All results of one have the same dimensions and layout.
  return xla::Shape::Equal().IgnoreElementType()(OneResultOf(*first).shape(),
                                                 OneResultOf(*second).shape());
}

bool SiblingFusion::IsFusible(HloInstruction* instruction) {
  if (instruction->opcode() != HloOpcode::kFusion || !instruction->IsLoopFusion()) return false;
  return absl::c_all_of(ResultsOf(*instruction),
                        [](const HloInstruction* result) { return IsPlainLoopRoot(*result); });
}

int64_t SiblingFusion::GetProfit(HloInstruction* first, HloInstruction* second) {
  int64_t shared_bytes = 0;
  for (const HloInstruction* operand : first->operands()) {
    if (second->OperandIndices(operand).empty() || !operand->shape().IsArray()) continue;
    shared_bytes += xla::ShapeUtil::ByteSizeOf(operand->shape());
  }
  return shared_bytes;
}

bool SiblingFusion::LegalToFuse(HloInstruction* first, HloInstruction* second) {
  const int64_t results =
      xla::ShapeUtil::GetLeafCount(first->shape()) + xla::ShapeUtil::GetLeafCount(second->shape());
  const int64_t arguments = first->operand_count() + second->operand_count() + results;
  return arguments <= kMaxKernelArguments && MultiOutputFusion::LegalToFuse(first, second);
}

}  // namespace onexpu::compiler
