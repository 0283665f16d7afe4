#include "pjrt_core/compiler/passes/fusion/fusible.h"

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {

using xla::HloInstruction;
using xla::HloOpcode;

bool IsFusible(const HloInstruction& instruction) {
  if (!instruction.shape().IsArray()) {
    return instruction.opcode() == HloOpcode::kReduce ||
           (instruction.opcode() == HloOpcode::kFusion && !instruction.IsCustomFusion());
  }
  if (instruction.HasSideEffect()) return false;
  switch (instruction.opcode()) {
    case HloOpcode::kFusion:
      return !instruction.IsCustomFusion();
    case HloOpcode::kBroadcast:
    case HloOpcode::kBitcast:
    case HloOpcode::kConcatenate:
    case HloOpcode::kConstant:
    case HloOpcode::kConvolution:
    case HloOpcode::kDot:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kFft:
    case HloOpcode::kGather:
    case HloOpcode::kIota:
    case HloOpcode::kPad:
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kReshape:
    case HloOpcode::kReverse:
    case HloOpcode::kSlice:
    case HloOpcode::kTranspose:
      return true;
    default:
      return instruction.IsElementwise();
  }
}

bool IsFusibleProducer(const HloInstruction& instruction) {
  if (!IsFusible(instruction) || !instruction.shape().IsArray()) return false;
  switch (instruction.opcode()) {
    // Whole kernels: as producers they would be computed again for every reader, or lose their
    // schedule.
    case HloOpcode::kFusion:
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kConvolution:
    case HloOpcode::kFft:
      return false;
    case HloOpcode::kConstant:
      return xla::ShapeUtil::IsEffectiveScalar(instruction.shape());
    default:
      return true;
  }
}

bool IsControlFlow(const HloInstruction& instruction) {
  return instruction.opcode() == HloOpcode::kWhile ||
         instruction.opcode() == HloOpcode::kConditional ||
         instruction.opcode() == HloOpcode::kCall;
}

bool IsExecuted(const xla::HloComputation& computation) {
  if (computation.IsFusionComputation()) return false;
  for (const HloInstruction* caller : computation.caller_instructions()) {
    if (!IsControlFlow(*caller)) return false;
  }
  return true;
}

HloInstruction::FusionKind FusionKindOf(const HloInstruction& root) {
  return root.opcode() == HloOpcode::kReduce ? HloInstruction::FusionKind::kInput
                                             : HloInstruction::FusionKind::kLoop;
}

bool IsPlainLoopRoot(const xla::HloInstruction& root) {
  switch (root.opcode()) {
    // In place or with a schedule of their own: not to be mixed with others.
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kConcatenate:
    case HloOpcode::kTranspose:
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kConvolution:
    case HloOpcode::kDot:
    case HloOpcode::kFft:
      return false;
    default:
      return true;
  }
}

}  // namespace onexpu::compiler
