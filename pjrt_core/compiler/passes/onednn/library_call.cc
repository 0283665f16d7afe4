#include "pjrt_core/compiler/passes/onednn/library_call.h"

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/analysis/call_settings.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {
namespace {

std::string ToText(const Epilogue& epilogue) {
  return absl::StrFormat(
      "activation = %d : i32, activation_alpha = %.9e : f32, alpha = %.9e : f32, has_addend = %s, "
      "has_bias = %s",
      static_cast<int>(epilogue.activation), epilogue.activation_alpha, epilogue.alpha,
      epilogue.has_addend ? "true" : "false", epilogue.has_bias ? "true" : "false");
}

Epilogue ReadEpilogue(const CallSettings& settings) {
  return {settings.Float("alpha"), settings.Integer("has_addend") != 0,
          settings.Integer("has_bias") != 0,
          static_cast<program::Activation>(settings.Integer("activation")),
          settings.Float("activation_alpha")};
}

}  // namespace

bool IsLibraryCall(const xla::HloInstruction& instruction) {
  return instruction.opcode() == xla::HloOpcode::kCustomCall &&
         (absl::StartsWith(instruction.custom_call_target(), "onednn-") ||
          absl::StartsWith(instruction.custom_call_target(), "onemkl-"));
}

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
  ONEXPU_ASSIGN_OR_RETURN(const CallSettings settings, CallSettings::Of(call));
  MatmulConfig config;
  config.batch_dimensions = settings.Integer("batch_dimensions");
  config.lhs_contracting = settings.Integer("lhs_contracting");
  config.rhs_contracting = settings.Integer("rhs_contracting");
  config.epilogue = ReadEpilogue(settings);
  return config;
}

absl::StatusOr<ConvolutionConfig> ConvolutionConfigOf(const xla::HloInstruction& call) {
  ONEXPU_ASSIGN_OR_RETURN(const CallSettings settings, CallSettings::Of(call));
  ConvolutionConfig config;
  config.kind = static_cast<program::ConvolutionKind>(settings.Integer("kind"));
  config.epilogue = ReadEpilogue(settings);
  return config;
}

}  // namespace onexpu::compiler
