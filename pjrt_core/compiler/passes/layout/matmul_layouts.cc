#include "pjrt_core/compiler/passes/layout/matmul_layouts.h"

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/passes/layout/layout_copies.h"
#include "pjrt_core/compiler/passes/onednn/library_call.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;

// The innermost dimension that has more than one element is a row's or a column's.
bool IsAcceptable(const xla::Shape& shape, int64_t batch_dimensions) {
  for (const int64_t dimension : shape.layout().minor_to_major()) {
    if (shape.dimensions(dimension) == 1) continue;
    return dimension >= batch_dimensions;
  }
  return true;
}

absl::StatusOr<bool> Fix(HloInstruction* call) {
  ONEXPU_ASSIGN_OR_RETURN(const MatmulConfig config, MatmulConfigOf(*call));
  bool changed = false;
  for (int64_t i = 0; i < 2; ++i) {
    const xla::Shape& operand = call->operand(i)->shape();
    if (IsAcceptable(operand, config.batch_dimensions)) continue;
    ONEXPU_RETURN_IF_ERROR(CopyOperand(call, i, RowMajor(operand)));
    changed = true;
  }
  if (IsAcceptable(call->shape(), config.batch_dimensions)) return changed;
  ONEXPU_RETURN_IF_ERROR(CopyResult(call, RowMajor(call->shape())));
  return true;
}

}  // namespace

absl::StatusOr<bool> MatmulLayouts::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      if (!IsMatmul(*instruction)) continue;
      ONEXPU_ASSIGN_OR_RETURN(const bool fixed, Fix(instruction));
      changed = changed || fixed;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
