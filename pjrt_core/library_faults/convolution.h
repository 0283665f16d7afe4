// A convolution as the table of known faults describes it, and the questions that its entries ask
// about the geometry. Plain data; pure functions.
#ifndef PJRT_CORE_LIBRARY_FAULTS_CONVOLUTION_H_
#define PJRT_CORE_LIBRARY_FAULTS_CONVOLUTION_H_

#include <cstdint>
#include <vector>

#include "pjrt_core/library_faults/operand_type.h"

namespace onexpu::library_faults {

enum class ConvolutionKind { kForward, kBackwardData, kBackwardWeights };

// One spatial dimension. Sizes are in elements.
struct WindowDimension {
  int64_t source = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;  // of the kernel, 1 for none
  int64_t padding_low = 0;
  int64_t destination = 1;  // the number of positions of the window
};

// In terms of the forward convolution, also for its gradients.
struct Convolution {
  ConvolutionKind kind = ConvolutionKind::kForward;
  OperandType type = OperandType::kF32;
  int64_t source_channels_per_group = 1;
  int64_t destination_channels_per_group = 1;
  std::vector<WindowDimension> window;  // outermost first
};

// Whether no element of the kernel meets the source at some position of the window.
bool HasPaddingOnlyPosition(const WindowDimension& dimension);

// Whether some element of the kernel meets the source at no position of the window.
bool HasPaddingOnlyTap(const WindowDimension& dimension);

}  // namespace onexpu::library_faults

#endif  // PJRT_CORE_LIBRARY_FAULTS_CONVOLUTION_H_
