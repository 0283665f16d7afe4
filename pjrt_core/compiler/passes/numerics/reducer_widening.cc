#include "pjrt_core/compiler/passes/numerics/reducer_widening.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/analysis/combine_order.h"
#include "pjrt_core/compiler/passes/numerics/window_splitter.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/service/hlo_creation_utils.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using xla::HloComputation;
using xla::HloInstruction;
using xla::HloOpcode;

bool HasFloatsBelow32Bits(const xla::Shape& shape) {
  return shape.IsArray() && xla::primitive_util::IsFloatingPointType(shape.element_type()) &&
         xla::primitive_util::BitWidth(shape.element_type()) < 32;
}

xla::Shape Widened(const xla::Shape& shape) {
  if (shape.IsTuple()) {
    std::vector<xla::Shape> elements;
    for (const xla::Shape& element : shape.tuple_shapes()) elements.push_back(Widened(element));
    return xla::ShapeUtil::MakeTupleShape(elements);
  }
  return HasFloatsBelow32Bits(shape) ? xla::ShapeUtil::ChangeElementType(shape, xla::F32) : shape;
}

// Whether the instruction rounds its result to a narrow float, or depends on the bits of one.
enum class Work { kChooses, kComputes, kCannotWiden };

Work WorkOf(const HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case HloOpcode::kAnd:
    case HloOpcode::kCompare:
    case HloOpcode::kConstant:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kMaximum:
    case HloOpcode::kMinimum:
    case HloOpcode::kNot:
    case HloOpcode::kOr:
    case HloOpcode::kParameter:
    case HloOpcode::kSelect:
    case HloOpcode::kTuple:
      return Work::kChooses;
    case HloOpcode::kConvert:
      return HasFloatsBelow32Bits(instruction.shape()) ? Work::kComputes : Work::kChooses;
    default:
      if (!instruction.IsElementwise() || instruction.opcode() == HloOpcode::kBitcastConvert ||
          instruction.opcode() == HloOpcode::kReducePrecision || instruction.has_to_apply()) {
        return Work::kCannotWiden;
      }
      return HasFloatsBelow32Bits(instruction.shape()) ? Work::kComputes : Work::kChooses;
  }
}

// Whether a reducer is one addition or multiplication of its two arguments.
bool IsPlain(const HloComputation& reducer) {
  const HloInstruction& root = *reducer.root_instruction();
  return (root.opcode() == HloOpcode::kAdd || root.opcode() == HloOpcode::kMultiply) &&
         CombinesTwoParameters(root);
}

// Whether ScanRewriter or WindowSplitter may store parts of results.
bool HasParts(const HloInstruction& reduction, int64_t scan_block_length) {
  return reduction.opcode() == HloOpcode::kReduceWindow &&
         (WindowSplitter::IsLong(reduction.window()) ||
          absl::c_any_of(reduction.window().dimensions(),
                         [&](const auto& window) { return window.size() > scan_block_length; }));
}

bool ShouldWiden(const HloInstruction& reduction, int64_t scan_block_length) {
  if (reduction.opcode() != HloOpcode::kReduce && reduction.opcode() != HloOpcode::kReduceWindow) {
    return false;
  }
  if (!absl::c_any_of(reduction.operands(), [](const HloInstruction* operand) {
        return HasFloatsBelow32Bits(operand->shape());
      })) {
    return false;
  }
  const HloComputation& reducer = *reduction.to_apply();
  if (IsPlain(reducer)) return HasParts(reduction, scan_block_length);
  bool computes = false;
  for (const HloInstruction* instruction : reducer.instructions()) {
    const Work work = WorkOf(*instruction);
    if (work == Work::kCannotWiden) return false;
    computes = computes || work == Work::kComputes;
  }
  return computes;
}

// The reducer with f32 in place of narrow floats.
absl::StatusOr<HloComputation*> WidenReducer(HloComputation& reducer) {
  HloComputation::Builder builder("wide");
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> wide;
  for (const HloInstruction* instruction : reducer.MakeInstructionPostOrder()) {
    const xla::Shape shape = Widened(instruction->shape());
    std::unique_ptr<HloInstruction> copy;
    if (instruction->opcode() == HloOpcode::kParameter) {
      copy = HloInstruction::CreateParameter(instruction->parameter_number(), shape,
                                             instruction->name());
    } else if (instruction->opcode() == HloOpcode::kConstant &&
               HasFloatsBelow32Bits(instruction->shape())) {
      ONEXPU_ASSIGN_OR_RETURN(xla::Literal literal, instruction->literal().Convert(xla::F32));
      copy = HloInstruction::CreateConstant(std::move(literal));
    } else {
      std::vector<HloInstruction*> operands;
      for (const HloInstruction* operand : instruction->operands()) {
        operands.push_back(wide.at(operand));
      }
      copy = instruction->CloneWithNewOperands(shape, operands);
    }
    wide[instruction] = builder.AddInstruction(std::move(copy));
  }
  return reducer.parent()->AddEmbeddedComputation(
      builder.Build(wide.at(reducer.root_instruction())));
}

absl::Status Widen(HloInstruction* reduction) {
  HloComputation* const computation = reduction->parent();
  const auto convert = [](HloInstruction* value, const xla::Shape& shape) {
    return value->shape().element_type() == shape.element_type()
               ? value
               : xla::MakeConvertToHlo(value, shape.element_type());
  };
  std::vector<HloInstruction*> operands;
  for (HloInstruction* operand : reduction->operands()) {
    operands.push_back(convert(operand, Widened(operand->shape())));
  }
  ONEXPU_ASSIGN_OR_RETURN(HloComputation * reducer, WidenReducer(*reduction->to_apply()));
  HloInstruction* const wide = computation->AddInstruction(
      reduction->CloneWithNewOperands(Widened(reduction->shape()), operands));
  wide->set_to_apply(reducer);
  HloInstruction* result = wide;
  if (reduction->shape().IsTuple()) {
    std::vector<HloInstruction*> elements;
    for (int64_t i = 0; i < static_cast<int64_t>(reduction->shape().tuple_shapes().size()); ++i) {
      ONEXPU_ASSIGN_OR_RETURN(HloInstruction * element, xla::MakeGetTupleElementHlo(wide, i));
      elements.push_back(convert(element, reduction->shape().tuple_shapes(i)));
    }
    result = computation->AddInstruction(HloInstruction::CreateTuple(elements));
  } else {
    result = convert(wide, reduction->shape());
  }
  return computation->ReplaceInstruction(reduction, result);
}

}  // namespace

absl::StatusOr<bool> ReducerWidening::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (!module->config().debug_options().xla_allow_excess_precision()) return false;
  std::vector<HloInstruction*> reductions;
  for (const HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* instruction : computation->instructions()) {
      if (ShouldWiden(*instruction, scan_block_length_)) reductions.push_back(instruction);
    }
  }
  for (HloInstruction* reduction : reductions) ONEXPU_RETURN_IF_ERROR(Widen(reduction));
  return !reductions.empty();
}

}  // namespace onexpu::compiler
