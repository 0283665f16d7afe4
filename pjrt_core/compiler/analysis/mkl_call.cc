#include "pjrt_core/compiler/analysis/mkl_call.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/analysis/call_settings.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {
namespace {

absl::string_view Text(bool value) { return value ? "true" : "false"; }

}  // namespace

bool IsByColumns(const xla::HloInstruction& call) {
  for (const absl::string_view target :
       {kLuTarget, kQrTarget, kHouseholderProductTarget, kEighTarget, kSvdTarget}) {
    if (HasTarget(call, target)) return true;
  }
  return false;
}

std::string ToText(const FftConfig& config) {
  return absl::StrCat("{dimensions = ", config.dimensions,
                      " : i64, kind = ", static_cast<int>(config.kind), " : i32}");
}

std::string ToText(const CholeskyConfig& config) {
  return absl::StrCat("{lower = ", Text(config.lower), "}");
}

std::string ToText(const TriangularSolveConfig& config) {
  return absl::StrCat("{left_side = ", Text(config.left_side), ", lower = ", Text(config.lower),
                      ", transpose = ", static_cast<int>(config.transpose),
                      " : i32, unit_diagonal = ", Text(config.unit_diagonal), "}");
}

std::string ToText(const EighConfig& config) {
  return absl::StrCat("{lower = ", Text(config.lower), "}");
}

absl::StatusOr<FftConfig> FftConfigOf(const xla::HloInstruction& call) {
  ONEXPU_ASSIGN_OR_RETURN(const CallSettings settings, CallSettings::Of(call));
  return FftConfig{static_cast<program::FftKind>(settings.Integer("kind")),
                   settings.Integer("dimensions")};
}

absl::StatusOr<CholeskyConfig> CholeskyConfigOf(const xla::HloInstruction& call) {
  ONEXPU_ASSIGN_OR_RETURN(const CallSettings settings, CallSettings::Of(call));
  return CholeskyConfig{settings.Integer("lower") != 0};
}

absl::StatusOr<TriangularSolveConfig> TriangularSolveConfigOf(const xla::HloInstruction& call) {
  ONEXPU_ASSIGN_OR_RETURN(const CallSettings settings, CallSettings::Of(call));
  return TriangularSolveConfig{settings.Integer("left_side") != 0, settings.Integer("lower") != 0,
                               settings.Integer("unit_diagonal") != 0,
                               static_cast<program::Transpose>(settings.Integer("transpose"))};
}

absl::StatusOr<EighConfig> EighConfigOf(const xla::HloInstruction& call) {
  ONEXPU_ASSIGN_OR_RETURN(const CallSettings settings, CallSettings::Of(call));
  return EighConfig{settings.Integer("lower") != 0};
}

}  // namespace onexpu::compiler
