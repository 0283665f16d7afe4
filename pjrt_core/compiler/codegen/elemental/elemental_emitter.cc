#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;
using xla::HloOpcode;

absl::StatusOr<std::vector<Value*>> Single(absl::StatusOr<Value*> value) {
  if (!value.ok()) return value.status();
  return std::vector<Value*>{*value};
}

// Operations on the operands' elements at the same index.
absl::StatusOr<Value*> EmitElementwise(FusionContext& context, const HloInstruction& instruction,
                                       const Index& index) {
  std::vector<Value*> operands;
  for (const HloInstruction* operand : instruction.operands()) {
    const bool scalar = operand->shape().dimensions().empty();
    TF_ASSIGN_OR_RETURN(operands.emplace_back(),
                        context.Element(*operand, scalar ? Index() : index));
  }
  return EmitScalarOperation(context, instruction, operands);
}

absl::StatusOr<std::vector<Value*>> EmitTuple(FusionContext& context, const HloInstruction& tuple,
                                              const Index& index) {
  std::vector<Value*> values;
  for (const HloInstruction* operand : tuple.operands()) {
    TF_ASSIGN_OR_RETURN(std::vector<Value*> elements, context.Elements(*operand, index));
    values.insert(values.end(), elements.begin(), elements.end());
  }
  return values;
}

int64_t LeafCount(const xla::Shape& shape) {
  if (!shape.IsTuple()) return 1;
  int64_t count = 0;
  for (const xla::Shape& element : shape.tuple_shapes()) count += LeafCount(element);
  return count;
}

absl::StatusOr<std::vector<Value*>> EmitGetTupleElement(FusionContext& context,
                                                        const HloInstruction& get,
                                                        const Index& index) {
  const HloInstruction& tuple = *get.operand(0);
  if (tuple.opcode() == HloOpcode::kTuple)
    return context.Elements(*tuple.operand(get.tuple_index()), index);
  int64_t first = 0;
  for (int64_t i = 0; i < get.tuple_index(); ++i) first += LeafCount(tuple.shape().tuple_shapes(i));
  const int64_t count = LeafCount(get.shape());
  // Arrays of a tuple may differ in shape: load only the one that is meant.
  if (count == 1) {
    if (const Array* array = context.FindArray(tuple, first))
      return Single(context.Load(*array, index));
  }
  TF_ASSIGN_OR_RETURN(std::vector<Value*> values, context.Elements(tuple, index));
  if (first + count > static_cast<int64_t>(values.size())) return UnsupportedOperation(get);
  return std::vector<Value*>(values.begin() + first, values.begin() + first + count);
}

absl::StatusOr<std::vector<Value*>> EmitMap(FusionContext& context, const HloInstruction& map,
                                            const Index& index) {
  std::vector<Value*> operands;
  for (const HloInstruction* operand : map.operands()) {
    TF_ASSIGN_OR_RETURN(operands.emplace_back(), context.Element(*operand, index));
  }
  return context.EmitReducer(*map.to_apply(), operands);
}

bool AllScalar(const HloInstruction& instruction) {
  bool scalar = true;
  auto check = [&](const xla::Shape& shape, const xla::ShapeIndex&) {
    if (shape.IsArray() && !shape.dimensions().empty()) scalar = false;
  };
  xla::ShapeUtil::ForEachSubshape(instruction.shape(), check);
  for (const HloInstruction* operand : instruction.operands())
    xla::ShapeUtil::ForEachSubshape(operand->shape(), check);
  return scalar;
}

// A call of a scalar function, inside a reducer for example; a nested fusion at any index is the
// same as its root.
absl::StatusOr<std::vector<Value*>> EmitScalarCall(FusionContext& context,
                                                   const HloInstruction& call) {
  if (!AllScalar(call)) return UnsupportedOperation(call, "a call of arrays inside of a kernel");
  const xla::HloComputation& callee = call.opcode() == HloOpcode::kFusion
                                          ? *call.fused_instructions_computation()
                                          : *call.to_apply();
  std::vector<Value*> operands;
  for (const HloInstruction* operand : call.operands()) {
    TF_ASSIGN_OR_RETURN(operands.emplace_back(), context.Element(*operand, Index()));
  }
  return context.EmitReducer(callee, operands);
}

}  // namespace

bool IsElementwiseOperation(const HloInstruction& instruction) {
  if (instruction.opcode() == HloOpcode::kOptimizationBarrier) return instruction.shape().IsArray();
  const bool has_operands = instruction.operand_count() > 0;  // neither a constant nor an iota
  return has_operands && instruction.IsElementwise() &&
         instruction.opcode() != HloOpcode::kFusion && instruction.opcode() != HloOpcode::kMap &&
         !IsDataMovement(instruction);
}

absl::Status UnsupportedOperation(const HloInstruction& instruction, absl::string_view reason) {
  std::string operands = absl::StrJoin(
      instruction.operands(), ", ", [](std::string* out, const HloInstruction* operand) {
        absl::StrAppend(out, xla::ShapeUtil::HumanString(operand->shape()));
      });
  return absl::UnimplementedError(
      absl::StrCat("onexpu: ", xla::HloOpcodeString(instruction.opcode()), "(", operands, ") -> ",
                   xla::ShapeUtil::HumanString(instruction.shape()), " is not supported",
                   reason.empty() ? "" : ": ", reason, " (op %", instruction.name(),
                   instruction.metadata().op_name().empty()
                       ? ""
                       : absl::StrCat(", ", instruction.metadata().op_name()),
                   ")"));
}

absl::StatusOr<std::vector<Value*>> EmitElements(FusionContext& context,
                                                 const HloInstruction& instruction,
                                                 const Index& index) {
  if (instruction.shape().IsArray()) {
    TF_RETURN_IF_ERROR(CheckElementType(instruction.shape().element_type(), context.target()));
  }
  if (IsDataMovement(instruction)) return Single(EmitDataMovement(context, instruction, index));
  switch (instruction.opcode()) {
    case HloOpcode::kTuple:
      return EmitTuple(context, instruction, index);
    case HloOpcode::kGetTupleElement:
      return EmitGetTupleElement(context, instruction, index);
    case HloOpcode::kMap:
      return EmitMap(context, instruction, index);
    case HloOpcode::kCall:
    case HloOpcode::kFusion:
      return EmitScalarCall(context, instruction);
    case HloOpcode::kGather:
      return Single(EmitGather(context, instruction, index));
    case HloOpcode::kReduce:
      return EmitReduce(context, instruction, index);
    case HloOpcode::kReduceWindow:
      return EmitReduceWindow(context, instruction, index);
    case HloOpcode::kSelectAndScatter:
      return Single(EmitSelectAndScatter(context, instruction, index));
    case HloOpcode::kDot:
      return Single(EmitDot(context, instruction, index));
    case HloOpcode::kConvolution:
      return Single(EmitConvolution(context, instruction, index));
    case HloOpcode::kParameter:
      return absl::InternalError(absl::StrCat("onexpu: parameter ", instruction.name(), " of ",
                                              instruction.parent()->name(),
                                              " stands for no array"));
    default:
      if (!IsElementwiseOperation(instruction)) return UnsupportedOperation(instruction);
      return Single(EmitElementwise(context, instruction, index));
  }
}

}  // namespace onexpu::compiler
