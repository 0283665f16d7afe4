// The custom calls that stand for oneMKL routines: their targets, and their settings as attributes
// of the call. Written by LinearAlgebraRewriter, read by emit/ and codegen/. Pure functions.
#ifndef PJRT_CORE_COMPILER_ANALYSIS_MKL_CALL_H_
#define PJRT_CORE_COMPILER_ANALYSIS_MKL_CALL_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/program/program_generated.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

inline constexpr absl::string_view kFftTarget = "onemkl-fft";
inline constexpr absl::string_view kCholeskyTarget = "onemkl-cholesky";
inline constexpr absl::string_view kTriangularSolveTarget = "onemkl-triangular-solve";
inline constexpr absl::string_view kLuTarget = "onemkl-lu";
inline constexpr absl::string_view kQrTarget = "onemkl-qr";
inline constexpr absl::string_view kHouseholderProductTarget = "onemkl-householder-product";
inline constexpr absl::string_view kEighTarget = "onemkl-eigh";
inline constexpr absl::string_view kSvdTarget = "onemkl-svd";

// Along the last `dimensions` dimensions.
struct FftConfig {
  program::FftKind kind = program::FftKind::Fft;
  int64_t dimensions = 1;
};

// The result lies in the operand's memory.
struct CholeskyConfig {
  bool lower = true;
};

// The result lies in the second operand's memory.
struct TriangularSolveConfig {
  bool left_side = true;
  bool lower = true;
  bool unit_diagonal = false;
  program::Transpose transpose = program::Transpose::None;
};

// The vectors, the first result, lie in the operand's memory.
struct EighConfig {
  bool lower = true;
};

// Whether the routine takes and gives matrices by columns only. The others have settings.
bool IsByColumns(const xla::HloInstruction& call);

std::string ToText(const FftConfig& config);
std::string ToText(const CholeskyConfig& config);
std::string ToText(const TriangularSolveConfig& config);
std::string ToText(const EighConfig& config);
absl::StatusOr<FftConfig> FftConfigOf(const xla::HloInstruction& call);
absl::StatusOr<CholeskyConfig> CholeskyConfigOf(const xla::HloInstruction& call);
absl::StatusOr<TriangularSolveConfig> TriangularSolveConfigOf(const xla::HloInstruction& call);
absl::StatusOr<EighConfig> EighConfigOf(const xla::HloInstruction& call);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_ANALYSIS_MKL_CALL_H_
