#include "pjrt_core/compiler/analysis/rounded_values.h"

namespace onexpu::compiler {
namespace {

constexpr char kAttribute[] = "onexpu.rounded";

}  // namespace

bool Is16BitFloat(xla::PrimitiveType type) { return type == xla::BF16 || type == xla::F16; }

void SetRounded(xla::HloInstruction& instruction) {
  instruction.set_frontend_attribute(kAttribute, "true");
}

bool IsRounded(const xla::HloInstruction& instruction) {
  return instruction.has_frontend_attributes() &&
         instruction.frontend_attributes().map().contains(kAttribute);
}

}  // namespace onexpu::compiler
