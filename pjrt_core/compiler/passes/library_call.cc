#include "pjrt_core/compiler/passes/library_call.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/emit/attribute_parser.h"
#include "pjrt_core/program/status_macros.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {
namespace {

bool HasTarget(const xla::HloInstruction& instruction, absl::string_view target) {
  return instruction.opcode() == xla::HloOpcode::kCustomCall &&
         instruction.custom_call_target() == target;
}

std::string ToText(const Epilogue& epilogue) {
  return absl::StrFormat(
      "activation = %d : i32, alpha = %.9e : f32, has_addend = %s, has_bias = %s",
      static_cast<int>(epilogue.activation), epilogue.alpha, epilogue.has_addend ? "true" : "false",
      epilogue.has_bias ? "true" : "false");
}

// The scalar attributes of a call, as bits.
class Settings {
 public:
  static absl::StatusOr<Settings> Of(const xla::HloInstruction& call) {
    ONEXPU_ASSIGN_OR_RETURN(const NamedAttributes attributes,
                            ParseAttributes(call.raw_backend_config_string()));
    Settings settings;
    for (const auto& attribute : attributes) {
      const auto* scalar = attribute->value.AsScalarAttribute();
      if (scalar != nullptr) settings.bits_[attribute->name] = scalar->bits;
    }
    return settings;
  }

  int64_t Integer(const char* name) const { return static_cast<int64_t>(Bits(name)); }
  float Float(const char* name) const {
    const auto bits = static_cast<uint32_t>(Bits(name));
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  Epilogue ReadEpilogue() const {
    return {Float("alpha"), Integer("has_addend") != 0, Integer("has_bias") != 0,
            static_cast<program::Activation>(Integer("activation"))};
  }

 private:
  uint64_t Bits(const char* name) const {
    const auto found = bits_.find(name);
    return found == bits_.end() ? 0 : found->second;
  }
  std::map<std::string, uint64_t> bits_;
};

}  // namespace

bool IsMatmul(const xla::HloInstruction& instruction) {
  return HasTarget(instruction, kMatmulTarget);
}

bool IsConvolutionCall(const xla::HloInstruction& instruction) {
  return HasTarget(instruction, kConvolutionTarget) ||
         HasTarget(instruction, kConvolutionBiasActivationTarget);
}

std::string ToText(const MatmulConfig& config) {
  return absl::StrCat("{", ToText(config.epilogue),
                      ", batch_dimensions = ", config.batch_dimensions,
                      " : i64, lhs_contracting = ", config.lhs_contracting,
                      " : i64, rhs_contracting = ", config.rhs_contracting, " : i64}");
}

std::string ToText(const ConvolutionConfig& config) {
  return absl::StrCat("{", ToText(config.epilogue), ", kind = ", static_cast<int>(config.kind),
                      " : i32}");
}

absl::StatusOr<MatmulConfig> MatmulConfigOf(const xla::HloInstruction& call) {
  ONEXPU_ASSIGN_OR_RETURN(const Settings settings, Settings::Of(call));
  MatmulConfig config;
  config.batch_dimensions = settings.Integer("batch_dimensions");
  config.lhs_contracting = settings.Integer("lhs_contracting");
  config.rhs_contracting = settings.Integer("rhs_contracting");
  config.epilogue = settings.ReadEpilogue();
  return config;
}

absl::StatusOr<ConvolutionConfig> ConvolutionConfigOf(const xla::HloInstruction& call) {
  ONEXPU_ASSIGN_OR_RETURN(const Settings settings, Settings::Of(call));
  ConvolutionConfig config;
  config.kind = static_cast<program::ConvolutionKind>(settings.Integer("kind"));
  config.epilogue = settings.ReadEpilogue();
  return config;
}

}  // namespace onexpu::compiler
