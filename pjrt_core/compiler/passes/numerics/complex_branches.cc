#include "pjrt_core/compiler/passes/numerics/complex_branches.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "pjrt_core/base/status_macros.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

// Adds instructions on real and complex arrays of one size.
class Builder {
 public:
  explicit Builder(HloInstruction& where)
      : where_(where),
        complex_(where.shape()),
        real_(xla::ShapeUtil::ComplexComponentShape(where.shape())) {}

  HloInstruction* Part(HloOpcode opcode, HloInstruction* value) {
    return Add(HloInstruction::CreateUnary(real_, opcode, value));
  }
  HloInstruction* Real(HloOpcode opcode, HloInstruction* left, HloInstruction* right) {
    return Add(HloInstruction::CreateBinary(real_, opcode, left, right));
  }
  HloInstruction* Complex(HloInstruction* real, HloInstruction* imaginary) {
    return Add(HloInstruction::CreateBinary(complex_, HloOpcode::kComplex, real, imaginary));
  }

 private:
  HloInstruction* Add(std::unique_ptr<HloInstruction> instruction) {
    instruction->set_metadata(where_.metadata());
    return where_.parent()->AddInstruction(std::move(instruction));
  }

  HloInstruction& where_;
  const xla::Shape complex_;
  const xla::Shape real_;
};

// The number whose square `value` is, or null.
HloInstruction* SquareRootOf(HloInstruction& value) {
  const bool is_square =
      value.opcode() == HloOpcode::kMultiply && value.operand(0) == value.operand(1);
  return is_square ? value.mutable_operand(0) : nullptr;
}

// (a + bi)^2 = (a^2 - b^2) + 2abi.
HloInstruction* Square(HloInstruction& value, HloInstruction* root) {
  Builder b(value);
  HloInstruction* const real = b.Part(HloOpcode::kReal, root);
  HloInstruction* const imaginary = b.Part(HloOpcode::kImag, root);
  HloInstruction* const product = b.Real(HloOpcode::kMultiply, real, imaginary);
  return b.Complex(b.Real(HloOpcode::kSubtract, b.Real(HloOpcode::kMultiply, real, real),
                          b.Real(HloOpcode::kMultiply, imaginary, imaginary)),
                   b.Real(HloOpcode::kAdd, product, product));
}

// log|z| + i arg(z).
HloInstruction* Logarithm(HloInstruction& value, HloInstruction* operand) {
  Builder b(value);
  HloInstruction* const magnitude = b.Part(HloOpcode::kLog, b.Part(HloOpcode::kAbs, operand));
  return b.Complex(magnitude, b.Real(HloOpcode::kAtan2, b.Part(HloOpcode::kImag, operand),
                                     b.Part(HloOpcode::kReal, operand)));
}

absl::StatusOr<bool> Rewrite(HloInstruction& instruction) {
  if (!instruction.shape().IsArray() || !xla::ShapeUtil::ElementIsComplex(instruction.shape())) {
    return false;
  }
  if (instruction.opcode() == HloOpcode::kSqrt) {
    HloInstruction& square = *instruction.mutable_operand(0);
    HloInstruction* const root = SquareRootOf(square);
    if (root == nullptr) return false;
    ONEXPU_RETURN_IF_ERROR(instruction.ReplaceOperandWith(0, Square(square, root)));
    return true;
  }
  if (instruction.opcode() == HloOpcode::kLog &&
      instruction.operand(0)->opcode() == HloOpcode::kExp) {
    ONEXPU_RETURN_IF_ERROR(instruction.parent()->ReplaceInstruction(
        &instruction, Logarithm(instruction, instruction.mutable_operand(0))));
    return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<bool> ComplexBranches::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      ONEXPU_ASSIGN_OR_RETURN(const bool rewritten, Rewrite(*instruction));
      changed |= rewritten;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
