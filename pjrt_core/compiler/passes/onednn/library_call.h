// The custom calls that stand for oneDNN primitives: their targets, and their settings as
// attributes of the call, in the text form that FFI calls have. Written by the library passes, read
// by emit/. Pure functions.
#ifndef PJRT_CORE_COMPILER_PASSES_ONEDNN_LIBRARY_CALL_H_
#define PJRT_CORE_COMPILER_PASSES_ONEDNN_LIBRARY_CALL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/program/program_generated.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

inline constexpr absl::string_view kMatmulTarget = "onednn-matmul";
inline constexpr absl::string_view kConvolutionTarget = "onednn-conv";
inline constexpr absl::string_view kConvolutionBiasActivationTarget = "onednn-conv-bias-activation";

// What is done to a product before it is stored: activation(alpha * product + addend + bias).
struct Epilogue {
  float alpha = 1;
  bool has_addend = false;  // the operand after the factors, of the result's shape and layout
  bool has_bias = false;    // the last operand, one element per column or output channel
  program::Activation activation = program::Activation::None;
  float activation_alpha = 0;  // of LeakyRelu and Elu
};

// result[batch..., row, column] = epilogue(lhs x rhs). Either operand may lack its row or column
// dimension.
struct MatmulConfig {
  int64_t batch_dimensions = 0;  // the leading ones of both operands
  int64_t lhs_contracting = 0;
  int64_t rhs_contracting = 0;
  Epilogue epilogue;
};

// The dimensions are those of the call's convolution_dimension_numbers and window, as of a forward
// convolution of source and weights; `kind` says which of the three arrays is computed.
struct ConvolutionConfig {
  program::ConvolutionKind kind = program::ConvolutionKind::Forward;
  Epilogue epilogue;
};

// The operand that is the addend, if there is one.
inline constexpr int64_t kAddendOperand = 2;

// Whether the compiler made the call, of oneDNN or of oneMKL (mkl_call.h).
bool IsLibraryCall(const xla::HloInstruction& instruction);
bool IsMatmul(const xla::HloInstruction& instruction);
bool IsConvolutionCall(const xla::HloInstruction& instruction);

std::string ToText(const MatmulConfig& config);
std::string ToText(const ConvolutionConfig& config);
absl::StatusOr<MatmulConfig> MatmulConfigOf(const xla::HloInstruction& call);
absl::StatusOr<ConvolutionConfig> ConvolutionConfigOf(const xla::HloInstruction& call);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_ONEDNN_LIBRARY_CALL_H_
