#include "pjrt_core/compiler/passes/batch_sum.h"

#include <cstdint>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/passes/plain_sum.h"
#include "pjrt_core/program/status_macros.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

// The dot whose batches alone, some or all, the instruction adds up; null where there is none.
const xla::HloDotInstruction* SummedProduct(const xla::HloInstruction& instruction) {
  if (!IsPlainSum(instruction) || instruction.operand(0)->user_count() != 1) return nullptr;
  const auto* dot = xla::DynCast<xla::HloDotInstruction>(instruction.operand(0));
  if (dot == nullptr) return nullptr;
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
      const xla::HloDotInstruction* dot = SummedProduct(*sum);
      if (dot == nullptr) continue;
      xla::HloInstruction* const product = sum->mutable_operand(0);
      ONEXPU_RETURN_IF_ERROR(computation->ReplaceWithNewInstruction(
          sum, xla::HloInstruction::CreateDot(
                   sum->shape(), product->mutable_operand(0), product->mutable_operand(1),
                   Contracted(dot->dot_dimension_numbers(), *sum), dot->precision_config())));
      changed = true;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
