#include "pjrt_core/compiler/passes/numerics/batch_sum.h"

#include <cstdint>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/passes/numerics/plain_sum.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

// Whether it makes 32 bits of floats of 16, which a product adds up in 32.
bool IsWidening(const xla::HloInstruction& instruction) {
  if (instruction.opcode() != xla::HloOpcode::kConvert) return false;
  const xla::PrimitiveType from = instruction.operand(0)->shape().element_type();
  return instruction.shape().element_type() == xla::F32 && (from == xla::BF16 || from == xla::F16);
}

// The dot whose batches alone, some or all, the instruction adds up, in more bits than it has them
// in maybe; null where there is none.
xla::HloDotInstruction* SummedProduct(xla::HloInstruction& instruction) {
  if (!IsPlainSum(instruction)) return nullptr;
  xla::HloInstruction* summed = instruction.mutable_operand(0);
  if (IsWidening(*summed) && summed->user_count() == 1) summed = summed->mutable_operand(0);
  auto* dot = xla::DynCast<xla::HloDotInstruction>(summed);
  if (dot == nullptr || dot->user_count() != 1) return nullptr;
  // The batches are a dot's leading dimensions.
  const int64_t batches = dot->dot_dimension_numbers().lhs_batch_dimensions_size();
  const bool are_batches = absl::c_all_of(instruction.dimensions(),
                                          [&](int64_t dimension) { return dimension < batches; });
  return are_batches ? dot : nullptr;
}

xla::DotDimensionNumbers Contracted(const xla::DotDimensionNumbers& product,
                                    const xla::HloInstruction& sum) {
  xla::DotDimensionNumbers numbers;
  for (int i = 0; i < product.lhs_batch_dimensions_size(); ++i) {
    const bool is_summed = absl::c_linear_search(sum.dimensions(), i);
    (is_summed ? numbers.mutable_lhs_contracting_dimensions()
               : numbers.mutable_lhs_batch_dimensions())
        ->Add(product.lhs_batch_dimensions(i));
    (is_summed ? numbers.mutable_rhs_contracting_dimensions()
               : numbers.mutable_rhs_batch_dimensions())
        ->Add(product.rhs_batch_dimensions(i));
  }
  numbers.mutable_lhs_contracting_dimensions()->MergeFrom(product.lhs_contracting_dimensions());
  numbers.mutable_rhs_contracting_dimensions()->MergeFrom(product.rhs_contracting_dimensions());
  return numbers;
}

}  // namespace

absl::StatusOr<bool> BatchSum::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (xla::HloInstruction* sum : computation->MakeInstructionPostOrder()) {
      xla::HloDotInstruction* const dot = SummedProduct(*sum);
      if (dot == nullptr) continue;
      ONEXPU_RETURN_IF_ERROR(computation->ReplaceWithNewInstruction(
          sum, xla::HloInstruction::CreateDot(
                   sum->shape(), dot->mutable_operand(0), dot->mutable_operand(1),
                   Contracted(dot->dot_dimension_numbers(), *sum), dot->precision_config())));
      changed = true;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
