#include "pjrt_core/compiler/emit/source_location.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

std::string FileAndLine(const xla::HloInstruction& instruction) {
  const xla::OpMetadata& metadata = instruction.metadata();
  // What TensorFlow writes where it does not know.
  if (metadata.source_file() == "dummy_file_name") return "";
  if (!metadata.source_file().empty()) {
    return absl::StrCat(metadata.source_file(), ":", metadata.source_line());
  }
  if (metadata.stack_frame_id() == 0 || instruction.GetModule() == nullptr) return "";
  const auto frame = instruction.GetModule()->get_stack_frame(metadata.stack_frame_id());
  if (frame.empty()) return "";
  return absl::StrCat(frame.file_name, ":", frame.line);
}

std::string OperandShapes(const xla::HloInstruction& instruction) {
  return absl::StrJoin(instruction.operands(), ", ",
                       [](std::string* out, const xla::HloInstruction* operand) {
                         absl::StrAppend(out, xla::ShapeUtil::HumanString(operand->shape()));
                       });
}

}  // namespace

std::string SourceLocation(const xla::HloInstruction& instruction) {
  const std::string place = FileAndLine(instruction);
  const std::string& name = instruction.metadata().op_name();
  if (place.empty()) return name;
  return name.empty() ? place : absl::StrCat(place, " (", name, ")");
}

absl::Status WithInstruction(const absl::Status& status, const xla::HloInstruction& instruction) {
  const std::string marker = " (op %";
  if (status.ok() || absl::StrContains(status.message(), marker)) return status;
  const absl::string_view prefix = absl::StartsWith(status.message(), "onexpu:") ? "" : "onexpu: ";
  const std::string source = SourceLocation(instruction);
  return absl::Status(
      status.code(),
      absl::StrCat(prefix, status.message(), marker, instruction.name(), " = ",
                   xla::ShapeUtil::HumanString(instruction.shape()), " ",
                   xla::HloOpcodeString(instruction.opcode()), "(", OperandShapes(instruction), ")",
                   source.empty() ? "" : "; ", source, ")"));
}

}  // namespace onexpu::compiler
