#include "pjrt_core/compiler/passes/numerics/scan_types.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/service/hlo_creation_utils.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

using xla::HloComputation;
using xla::HloInstruction;
using xla::HloReduceWindowInstruction;

HloInstruction* Convert(HloInstruction* value, xla::PrimitiveType type) {
  return value->parent()->AddInstruction(HloInstruction::CreateConvert(
      xla::ShapeUtil::ChangeElementType(value->shape(), type), value));
}

HloInstruction* BitcastConvert(HloInstruction* value, xla::PrimitiveType type) {
  return value->parent()->AddInstruction(HloInstruction::CreateBitcastConvert(
      xla::ShapeUtil::ChangeElementType(value->shape(), type), value));
}

xla::PrimitiveType BitsOf(xla::PrimitiveType type) {
  return xla::primitive_util::UnsignedIntegralTypeForBitWidth(xla::primitive_util::BitWidth(type));
}

// `value` as integers of the type `bits`, which is as wide as its own or wider.
HloInstruction* ToBits(HloInstruction* value, xla::PrimitiveType bits) {
  const xla::PrimitiveType type = value->shape().element_type();
  if (xla::primitive_util::IsFloatingPointType(type)) value = BitcastConvert(value, BitsOf(type));
  return value->shape().element_type() == bits ? value : Convert(value, bits);
}

// The inverse of ToBits.
HloInstruction* FromBits(HloInstruction* value, xla::PrimitiveType type) {
  const bool is_float = xla::primitive_util::IsFloatingPointType(type);
  const xla::PrimitiveType integer = is_float ? BitsOf(type) : type;
  if (value->shape().element_type() != integer) value = Convert(value, integer);
  return is_float ? BitcastConvert(value, type) : value;
}

bool HasSeveralTypes(const HloReduceWindowInstruction& scan) {
  return absl::c_any_of(scan.inputs(), [&](const HloInstruction* input) {
    return input->shape().element_type() != scan.inputs().front()->shape().element_type();
  });
}

bool IsLongScan(const HloReduceWindowInstruction& scan, int64_t block_length) {
  const xla::Shape& shape = scan.inputs().front()->shape();
  for (int64_t i = 0; i < shape.dimensions().size(); ++i) {
    const int64_t size = scan.window().dimensions(i).size();
    if (size == shape.dimensions(i) && size > block_length) return true;
  }
  return false;
}

// A copy of `reducer` whose arguments and results are of the type `bits`.
absl::StatusOr<HloComputation*> ReducerOfBits(HloComputation& reducer, xla::PrimitiveType bits) {
  auto* const result = reducer.parent()->AddEmbeddedComputation(reducer.Clone("bits"));
  for (HloInstruction* parameter : result->parameter_instructions()) {
    const xla::PrimitiveType type = parameter->shape().element_type();
    const std::vector<HloInstruction*> users = parameter->users();
    *parameter->mutable_shape() = xla::ShapeUtil::ChangeElementType(parameter->shape(), bits);
    HloInstruction* const value = FromBits(parameter, type);
    if (value == parameter) continue;
    for (HloInstruction* user : users) {
      TF_RETURN_IF_ERROR(parameter->ReplaceUseWithDifferentShape(user, value));
    }
  }
  HloInstruction* const root = result->root_instruction();
  std::vector<HloInstruction*> elements;
  for (int64_t i = 0; i < root->shape().tuple_shapes().size(); ++i) {
    TF_ASSIGN_OR_RETURN(HloInstruction * element, xla::MakeGetTupleElementHlo(root, i));
    elements.push_back(ToBits(element, bits));
  }
  result->set_root_instruction(result->AddInstruction(HloInstruction::CreateTuple(elements)),
                               /*accept_different_shape=*/true);
  return result;
}

absl::Status GiveOneType(HloReduceWindowInstruction* scan) {
  int width = 8;
  for (const HloInstruction* input : scan->inputs()) {
    const xla::PrimitiveType type = input->shape().element_type();
    if (xla::primitive_util::IsComplexType(type)) {
      return absl::UnimplementedError(absl::StrCat(
          "onexpu: reduce-window of several types, one of them complex: ", scan->ToString(),
          ". Scan the real and the imaginary parts as arrays of their own."));
    }
    width = std::max(width, xla::primitive_util::BitWidth(type));
  }
  const xla::PrimitiveType bits = xla::primitive_util::UnsignedIntegralTypeForBitWidth(width);
  std::vector<HloInstruction*> inputs;
  std::vector<HloInstruction*> initial;
  std::vector<xla::Shape> shapes;
  for (int64_t i = 0; i < scan->input_count(); ++i) {
    inputs.push_back(ToBits(scan->mutable_operand(i), bits));
    initial.push_back(ToBits(scan->mutable_operand(scan->input_count() + i), bits));
    shapes.push_back(xla::ShapeUtil::ChangeElementType(scan->shape().tuple_shapes(i), bits));
  }
  TF_ASSIGN_OR_RETURN(HloComputation * reducer, ReducerOfBits(*scan->to_apply(), bits));
  HloComputation* const computation = scan->parent();
  HloInstruction* const of_bits = computation->AddInstruction(HloInstruction::CreateReduceWindow(
      xla::ShapeUtil::MakeTupleShape(shapes), inputs, initial, scan->window(), reducer));
  scan->SetupDerivedInstruction(of_bits);
  std::vector<HloInstruction*> results;
  for (int64_t i = 0; i < scan->input_count(); ++i) {
    HloInstruction* const result =
        computation->AddInstruction(HloInstruction::CreateGetTupleElement(shapes[i], of_bits, i));
    results.push_back(FromBits(result, scan->shape().tuple_shapes(i).element_type()));
  }
  return computation->ReplaceInstruction(
      scan, computation->AddInstruction(HloInstruction::CreateTuple(results)));
}

}  // namespace

absl::StatusOr<bool> ScanTypes::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  std::vector<HloReduceWindowInstruction*> scans;
  for (HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* instruction : computation->instructions()) {
      auto* const scan = xla::DynCast<HloReduceWindowInstruction>(instruction);
      if (scan != nullptr && HasSeveralTypes(*scan) && IsLongScan(*scan, block_length_)) {
        scans.push_back(scan);
      }
    }
  }
  for (HloReduceWindowInstruction* scan : scans) TF_RETURN_IF_ERROR(GiveOneType(scan));
  return !scans.empty();
}

}  // namespace onexpu::compiler
