#include "pjrt_core/compiler/codegen/elemental/excess_precision.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "pjrt_core/compiler/analysis/rounded_values.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

bool IsWideFloat(xla::PrimitiveType type) { return type == xla::F32 || type == xla::F64; }

// Gives one of its operands, or something as exact, back without rounding.
bool PassesThrough(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAbs:
    case HloOpcode::kClamp:
    case HloOpcode::kMaximum:
    case HloOpcode::kMinimum:
    case HloOpcode::kNegate:
    case HloOpcode::kSelect:
      return true;
    default:
      return false;
  }
}

// Computes in f32 and rounds its result, or gives something that cannot be wide. A comparison is
// neither: `isinf(x * x)` and `x + 1 > x` have another result for a wide value.
bool Rounds(const HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case HloOpcode::kAdd:
    case HloOpcode::kAtan2:
    case HloOpcode::kCbrt:
    case HloOpcode::kCos:
    case HloOpcode::kDivide:
    case HloOpcode::kErf:
    case HloOpcode::kExp:
    case HloOpcode::kExpm1:
    case HloOpcode::kLog:
    case HloOpcode::kLog1p:
    case HloOpcode::kLogistic:
    case HloOpcode::kMultiply:
    case HloOpcode::kPower:
    case HloOpcode::kRsqrt:
    case HloOpcode::kSin:
    case HloOpcode::kSqrt:
    case HloOpcode::kSubtract:
    case HloOpcode::kTan:
    case HloOpcode::kTanh:
      return true;
    case HloOpcode::kConvert:
      return IsWideFloat(instruction.shape().element_type());
    default:
      return false;
  }
}

bool IsForgiving(const HloInstruction& instruction,
                 absl::flat_hash_set<const HloInstruction*>& visited) {
  if (!visited.insert(&instruction).second) return true;
  if (instruction.IsRoot() || IsRounded(instruction)) return false;
  return absl::c_all_of(instruction.users(), [&](const HloInstruction* user) {
    return Rounds(*user) || (PassesThrough(user->opcode()) && IsForgiving(*user, visited));
  });
}

}  // namespace

bool MayStayWide(const HloInstruction& instruction) {
  if (!Is16BitFloat(instruction.shape().element_type()) ||
      !instruction.parent()->IsFusionComputation() ||
      !instruction.GetModule()->config().debug_options().xla_allow_excess_precision()) {
    return false;
  }
  absl::flat_hash_set<const HloInstruction*> visited;
  return IsForgiving(instruction, visited);
}

}  // namespace onexpu::compiler
