#include "pjrt_core/compiler/codegen/kernel/computation_text.h"

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/literal.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

void AppendComputation(const xla::HloComputation& computation, std::string& text);

// The operation itself: shape, opcode, attributes, the computations that it calls.
void AppendOperation(const xla::HloInstruction& instruction, std::string& text) {
  xla::HloPrintOptions options;
  options.set_print_subcomputation_mode(xla::HloPrintOptions::PrintSubcomputationMode::kOff)
      .set_print_metadata(false)
      .set_print_backend_config(false)
      .set_print_control_dependencies(false);
  absl::StrAppend(&text, xla::ShapeUtil::HumanStringWithLayout(instruction.shape()), " ",
                  xla::HloOpcodeString(instruction.opcode()));
  for (const std::string& attribute : instruction.ExtraAttributesToString(options)) {
    absl::StrAppend(&text, " ", attribute);
  }
  if (instruction.opcode() == xla::HloOpcode::kParameter) {
    absl::StrAppend(&text, " ", instruction.parameter_number());
  }
  if (instruction.opcode() == xla::HloOpcode::kGetTupleElement)
    absl::StrAppend(&text, " ", instruction.tuple_index());
  if (instruction.opcode() == xla::HloOpcode::kConstant && instruction.shape().IsArray()) {
    // The bytes: a printed number may hide the payload of a NaN.
    const xla::Literal& literal = instruction.literal();
    const absl::string_view bytes(static_cast<const char*>(literal.untyped_data()),
                                  literal.size_bytes());
    absl::StrAppend(&text, " ", absl::BytesToHexString(bytes));
  }
  for (const xla::HloComputation* called : instruction.called_computations())
    AppendComputation(*called, text);
}

// Instructions by their number in post-order, the root last.
void AppendComputation(const xla::HloComputation& computation, std::string& text) {
  absl::flat_hash_map<const xla::HloInstruction*, int64_t> numbers;
  absl::StrAppend(&text, "{");
  for (const xla::HloInstruction* instruction : computation.MakeInstructionPostOrder()) {
    AppendOperation(*instruction, text);
    absl::StrAppend(&text, "(",
                    absl::StrJoin(instruction->operands(), ",",
                                  [&](std::string* out, const xla::HloInstruction* operand) {
                                    absl::StrAppend(out, numbers.at(operand));
                                  }),
                    ");");
    numbers.emplace(instruction, numbers.size());
  }
  absl::StrAppend(&text, "root ", numbers.at(computation.root_instruction()), "}");
}

}  // namespace

std::string ComputationText(const xla::HloInstruction& instruction) {
  std::string text;
  AppendOperation(instruction, text);
  for (const xla::HloInstruction* operand : instruction.operands()) {
    absl::StrAppend(&text, ",", xla::ShapeUtil::HumanStringWithLayout(operand->shape()));
  }
  return text;
}

}  // namespace onexpu::compiler
