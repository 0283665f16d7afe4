#include "pjrt_core/compiler/passes/numerics/scan_rewriter.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/compiler/analysis/combine_order.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/service/hlo_creation_utils.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using xla::HloComputation;
using xla::HloInstruction;

// The dimension along which `reduce_window` is a forward scan; nullopt if it is not one.
std::optional<int64_t> ForwardScanDimension(const xla::HloReduceWindowInstruction& reduce_window) {
  const xla::Shape& shape = reduce_window.inputs().front()->shape();
  std::optional<int64_t> scanned;
  for (int64_t i = 0; i < shape.dimensions().size(); ++i) {
    const xla::WindowDimension& window = reduce_window.window().dimensions(i);
    if (window.stride() != 1 || window.window_dilation() != 1 || window.base_dilation() != 1 ||
        window.window_reversal()) {
      return std::nullopt;
    }
    if (window.size() == 1 && window.padding_low() == 0 && window.padding_high() == 0) continue;
    // Inclusive or exclusive.
    const bool is_scan =
        window.size() == shape.dimensions(i) && window.padding_high() == 0 &&
        (window.padding_low() == window.size() - 1 || window.padding_low() == window.size());
    if (scanned.has_value() || !is_scan) return std::nullopt;
    scanned = i;
  }
  return scanned;
}

// A copy of `reducer` with its left and right arguments exchanged.
absl::StatusOr<HloComputation*> ExchangeArguments(HloComputation& reducer) {
  HloComputation* const exchanged =
      reducer.parent()->AddEmbeddedComputation(reducer.Clone("exchanged"));
  const int64_t arrays = exchanged->num_parameters() / 2;
  const auto other_side = [&](HloInstruction* argument) {
    return exchanged->parameter_instruction((argument->parameter_number() + arrays) % (2 * arrays));
  };
  for (HloInstruction* instruction : exchanged->instructions()) {
    for (int64_t i = 0; i < instruction->operand_count(); ++i) {
      HloInstruction* const operand = instruction->mutable_operand(i);
      if (operand->opcode() != xla::HloOpcode::kParameter) continue;
      TF_RETURN_IF_ERROR(instruction->ReplaceOperandWith(i, other_side(operand)));
    }
  }
  HloInstruction* const root = exchanged->root_instruction();
  if (root->opcode() == xla::HloOpcode::kParameter) {
    exchanged->set_root_instruction(other_side(root));
  }
  return exchanged;
}

absl::Status Reverse(xla::HloReduceWindowInstruction* scan, int64_t dimension) {
  HloComputation* const computation = scan->parent();
  std::vector<HloInstruction*> operands;
  for (HloInstruction* input : scan->inputs()) {
    TF_ASSIGN_OR_RETURN(HloInstruction * reversed, xla::MakeReverseHlo(input, {dimension}));
    operands.push_back(reversed);
  }
  const auto initial = scan->init_values();
  xla::Window window = scan->window();
  xla::WindowDimension* along = window.mutable_dimensions(dimension);
  along->set_padding_high(along->padding_low());
  along->set_padding_low(0);
  TF_ASSIGN_OR_RETURN(HloComputation * reducer, ExchangeArguments(*scan->to_apply()));
  HloInstruction* const reverse = computation->AddInstruction(
      HloInstruction::CreateReduceWindow(scan->shape(), operands, initial, window, reducer));
  scan->SetupDerivedInstruction(reverse);
  HloInstruction* result = reverse;
  if (scan->shape().IsTuple()) {
    std::vector<HloInstruction*> elements;
    for (int64_t i = 0; i < scan->shape().tuple_shapes().size(); ++i) {
      TF_ASSIGN_OR_RETURN(HloInstruction * element, xla::MakeGetTupleElementHlo(reverse, i));
      TF_ASSIGN_OR_RETURN(element, xla::MakeReverseHlo(element, {dimension}));
      elements.push_back(element);
    }
    result = computation->AddInstruction(HloInstruction::CreateTuple(elements));
  } else {
    TF_ASSIGN_OR_RETURN(result, xla::MakeReverseHlo(reverse, {dimension}));
  }
  return computation->ReplaceInstruction(scan, result);
}

std::vector<xla::HloReduceWindowInstruction*> ReduceWindows(
    xla::HloModule& module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  std::vector<xla::HloReduceWindowInstruction*> found;
  for (HloComputation* computation : module.MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* instruction : computation->instructions()) {
      if (auto* window = xla::DynCast<xla::HloReduceWindowInstruction>(instruction)) {
        found.push_back(window);
      }
    }
  }
  return found;
}

// Lets the module's list of computations grow by `number` without a reallocation. The list has no
// other way to reserve memory.
absl::Status ReserveComputations(xla::HloModule& module, int64_t number) {
  std::vector<HloComputation*> added;
  for (int64_t i = 0; i < number; ++i) {
    HloComputation::Builder builder("reserved");
    builder.AddInstruction(HloInstruction::CreateConstant(xla::LiteralUtil::Zero(xla::PRED)));
    added.push_back(module.AddEmbeddedComputation(builder.Build()));
  }
  for (HloComputation* computation : added) {
    TF_RETURN_IF_ERROR(module.RemoveEmbeddedComputation(computation));
  }
  module.CleanupComputations();  // until then they stay in the list
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> ScanRewriter::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  int64_t arrays = 0;
  for (xla::HloReduceWindowInstruction* scan : ReduceWindows(*module, execution_threads)) {
    arrays += scan->input_count();
    const std::optional<int64_t> dimension = ForwardScanDimension(*scan);
    if (!dimension.has_value() || scan->window().dimensions(*dimension).size() <= block_length_ ||
        IsSymmetricReducer(*scan->to_apply())) {
      continue;
    }
    TF_RETURN_IF_ERROR(Reverse(scan, *dimension));
    changed = true;
  }
  // The rewriter adds one for each array.
  const int64_t reserved = module->computation_count() + arrays;
  TF_RETURN_IF_ERROR(ReserveComputations(*module, arrays));
  TF_ASSIGN_OR_RETURN(const bool rewritten,
                      xla::ReduceWindowRewriter::RunImpl(module, execution_threads));
  if (module->computation_count() > reserved) {
    return absl::InternalError(absl::StrCat(
        "onexpu: ReduceWindowRewriter added more computations than the ", arrays,
        " that were reserved for it. This TensorFlow is not the one that onexpu is built for."));
  }
  return changed || rewritten;
}

}  // namespace onexpu::compiler
