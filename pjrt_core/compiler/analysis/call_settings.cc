#include "pjrt_core/compiler/analysis/call_settings.h"

#include <cstdint>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/attributes/attribute_parser.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace onexpu::compiler {

bool HasTarget(const xla::HloInstruction& instruction, absl::string_view target) {
  return instruction.opcode() == xla::HloOpcode::kCustomCall &&
         instruction.custom_call_target() == target;
}

absl::StatusOr<CallSettings> CallSettings::Of(const xla::HloInstruction& call) {
  ONEXPU_ASSIGN_OR_RETURN(const NamedAttributes attributes,
                          ParseAttributes(call.raw_backend_config_string()));
  CallSettings settings;
  for (const auto& attribute : attributes) {
    const auto* scalar = attribute->value.AsScalarAttribute();
    if (scalar != nullptr) settings.bits_[attribute->name] = scalar->bits;
  }
  return settings;
}

float CallSettings::Float(const char* name) const {
  const auto bits = static_cast<uint32_t>(Bits(name));
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

uint64_t CallSettings::Bits(const char* name) const {
  const auto found = bits_.find(name);
  return found == bits_.end() ? 0 : found->second;
}

}  // namespace onexpu::compiler
