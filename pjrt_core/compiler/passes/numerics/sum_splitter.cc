#include "pjrt_core/compiler/passes/numerics/sum_splitter.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/passes/numerics/plain_sum.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

// The minimum length of a row for a work-group, and the minimum number of rows to fill the device.
constexpr int64_t kMinRowLength = 64;
constexpr int64_t kMinRows = 64;

bool IsWholeSum(const xla::HloInstruction& instruction) {
  if (!IsPlainSum(instruction)) return false;
  const xla::Shape& shape = instruction.operand(0)->shape();
  return shape.dimensions().size() == instruction.dimensions().size() &&
         shape.dimensions().size() > 1 && xla::LayoutUtil::HasLayout(shape) &&
         xla::ShapeUtil::ByteSizeOfPrimitiveType(shape.element_type()) >= 4;
}

// Whether an element is computed from a value that is the same along `dimension` and is itself
// computed, through elementwise operations alone: those that fusion will join.
bool TakesComputedValueOfRow(const xla::HloInstruction* element, int64_t dimension) {
  absl::flat_hash_set<const xla::HloInstruction*> seen = {element};
  std::vector<const xla::HloInstruction*> pending = {element};
  while (!pending.empty()) {
    const xla::HloInstruction* instruction = pending.back();
    pending.pop_back();
    if (instruction->opcode() == xla::HloOpcode::kBroadcast) {
      const xla::HloInstruction& row = *instruction->operand(0);
      if (!xla::ShapeUtil::IsEffectiveScalar(row.shape()) && row.IsElementwise() &&
          row.operand_count() > 0 && !absl::c_linear_search(instruction->dimensions(), dimension)) {
        return true;
      }
      continue;
    }
    if (!instruction->IsElementwise()) continue;
    for (const xla::HloInstruction* operand : instruction->operands()) {
      if (seen.insert(operand).second) pending.push_back(operand);
    }
  }
  return false;
}

absl::StatusOr<bool> Split(xla::HloInstruction* sum) {
  xla::HloInstruction* const operand = sum->mutable_operand(0);
  const xla::Shape& shape = operand->shape();
  const int64_t fastest = xla::LayoutUtil::Minor(shape.layout(), 0);
  const int64_t length = shape.dimensions(fastest);
  if (length < kMinRowLength || xla::ShapeUtil::ElementsIn(shape) < kMinRows * length ||
      !TakesComputedValueOfRow(operand, fastest)) {
    return false;
  }
  xla::HloComputation* const computation = sum->parent();
  xla::HloInstruction* const zero = sum->mutable_operand(1);
  const xla::Shape rows = xla::ShapeUtil::DeleteDimension(fastest, shape);
  xla::HloInstruction* const sums = computation->AddInstruction(
      xla::HloInstruction::CreateReduce(rows, operand, zero, {fastest}, sum->to_apply()),
      &sum->metadata());
  std::vector<int64_t> all(rows.dimensions().size());
  std::iota(all.begin(), all.end(), 0);
  ONEXPU_RETURN_IF_ERROR(computation->ReplaceWithNewInstruction(
      sum, xla::HloInstruction::CreateReduce(sum->shape(), sums, zero, all, sum->to_apply())));
  return true;
}

}  // namespace

absl::StatusOr<bool> SumSplitter::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (xla::HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      if (!IsWholeSum(*instruction)) continue;
      ONEXPU_ASSIGN_OR_RETURN(const bool split, Split(instruction));
      changed |= split;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
