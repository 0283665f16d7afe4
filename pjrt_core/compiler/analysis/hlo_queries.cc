#include "pjrt_core/compiler/analysis/hlo_queries.h"

#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {

using xla::HloOpcode;

bool IsFree(const xla::HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case HloOpcode::kParameter:
    case HloOpcode::kConstant:
    case HloOpcode::kTuple:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kBitcast:
    case HloOpcode::kAfterAll:
    case HloOpcode::kAddDependency:
    case HloOpcode::kOptimizationBarrier:
    case HloOpcode::kDomain:
      return true;
    default:
      return false;
  }
}

const xla::HloInstruction& RootOf(const xla::HloInstruction& instruction) {
  return instruction.opcode() == HloOpcode::kFusion ? *instruction.fused_expression_root()
                                                    : instruction;
}

std::vector<const xla::HloInstruction*> ResultsOf(const xla::HloInstruction& instruction) {
  const xla::HloInstruction& root = RootOf(instruction);
  if (root.opcode() != HloOpcode::kTuple) return {&root};
  return {root.operands().begin(), root.operands().end()};
}

const xla::HloInstruction& OneResultOf(const xla::HloInstruction& instruction) {
  const xla::HloInstruction& root = RootOf(instruction);
  return root.opcode() == HloOpcode::kTuple && root.operand_count() > 0 ? *root.operand(0) : root;
}

bool IsFloatConversion(const xla::HloInstruction& instruction) {
  return instruction.opcode() == HloOpcode::kConvert &&
         xla::ShapeUtil::ElementIsFloating(instruction.shape()) &&
         xla::ShapeUtil::ElementIsFloating(instruction.operand(0)->shape());
}

bool IsTranscendental(xla::HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kExp:
    case HloOpcode::kExpm1:
    case HloOpcode::kLog:
    case HloOpcode::kLog1p:
    case HloOpcode::kLogistic:
    case HloOpcode::kTanh:
    case HloOpcode::kTan:
    case HloOpcode::kSin:
    case HloOpcode::kCos:
    case HloOpcode::kErf:
    case HloOpcode::kPower:
    case HloOpcode::kAtan2:
    case HloOpcode::kDivide:
    case HloOpcode::kRemainder:
    case HloOpcode::kSqrt:
    case HloOpcode::kRsqrt:
    case HloOpcode::kCbrt:
      return true;
    default:
      return false;
  }
}

int64_t KnownTripCount(const xla::HloInstruction& loop) {
  const auto config = loop.backend_config<xla::WhileLoopBackendConfig>();
  if (!config.ok() || !config->has_known_trip_count()) return -1;
  return config->known_trip_count().n();
}

bool IsInLoop(const xla::HloComputation& computation) {
  for (const xla::HloInstruction* caller : computation.caller_instructions()) {
    if (caller->opcode() == HloOpcode::kWhile || IsInLoop(*caller->parent())) return true;
  }
  return false;
}

}  // namespace onexpu::compiler
