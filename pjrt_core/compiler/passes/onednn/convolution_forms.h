// Reads a kConvolution as one of the three things that oneDNN computes: forward, the gradient of
// the source (a dilated source and a reversed kernel), the gradient of the weights (a kernel as
// large as an image). Pure functions.
#ifndef PJRT_CORE_COMPILER_PASSES_ONEDNN_CONVOLUTION_FORMS_H_
#define PJRT_CORE_COMPILER_PASSES_ONEDNN_CONVOLUTION_FORMS_H_

#include <cstdint>
#include <optional>

#include "pjrt_core/program/program_generated.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {

struct ConvolutionForm {
  program::ConvolutionKind kind = program::ConvolutionKind::Forward;
  // input: source, kernel: weights, output: destination, whichever of them is the result.
  xla::ConvolutionDimensionNumbers dimensions;
  // Of the forward convolution: sizes of the kernel, strides, padding, window dilation. Nothing
  // else is set.
  xla::Window window;
  int64_t groups = 1;
  // The kernel operand must be reversed along its spatial dimensions first.
  bool reverse_kernel = false;
  // The kernel operand is a kReverse whose operand is meant.
  bool skip_reverse = false;
};

// Empty if the convolution is none of them as it is; convolution_trimming.h writes most as one.
std::optional<ConvolutionForm> FormOf(const xla::HloInstruction& convolution);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_ONEDNN_CONVOLUTION_FORMS_H_
