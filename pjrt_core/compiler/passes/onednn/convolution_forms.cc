#include "pjrt_core/compiler/passes/onednn/convolution_forms.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "pjrt_core/program/program_generated.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/window_util.h"

namespace onexpu::compiler {
namespace {

using program::ConvolutionKind;
using xla::ConvolutionDimensionNumbers;
using xla::HloInstruction;
using xla::Window;
using xla::WindowDimension;

WindowDimension* AddDimension(Window& window, int64_t size, int64_t stride, int64_t padding_low,
                              int64_t padding_high, int64_t dilation) {
  WindowDimension* dimension = window.add_dimensions();
  dimension->set_size(size);
  dimension->set_stride(stride);
  dimension->set_padding_low(padding_low);
  dimension->set_padding_high(padding_high);
  dimension->set_window_dilation(dilation);
  dimension->set_base_dilation(1);
  return dimension;
}

// The padding behind a source of `source` elements that gives exactly `positions` windows.
int64_t PaddingHigh(int64_t source, int64_t positions, int64_t kernel, int64_t stride,
                    int64_t dilation, int64_t padding_low) {
  return (positions - 1) * stride + (kernel - 1) * dilation + 1 - source - padding_low;
}

// oneDNN ignores a tail of the source that no window reaches, if it is shorter than a stride.
bool IsPossible(const WindowDimension& dimension) {
  return dimension.padding_low() >= 0 && dimension.padding_high() > -dimension.stride();
}

std::optional<ConvolutionForm> ForwardForm(const HloInstruction& convolution) {
  const Window& given = convolution.window();
  if (xla::window_util::HasBaseDilation(given) || xla::window_util::HasWindowReversal(given) ||
      convolution.batch_group_count() != 1) {
    return std::nullopt;
  }
  ConvolutionForm form;
  form.dimensions = convolution.convolution_dimension_numbers();
  form.groups = convolution.feature_group_count();
  for (const WindowDimension& dimension : given.dimensions()) {
    const WindowDimension* own =
        AddDimension(form.window, dimension.size(), dimension.stride(), dimension.padding_low(),
                     dimension.padding_high(), dimension.window_dilation());
    if (!IsPossible(*own)) return std::nullopt;
  }
  return form;
}

// How the kernel is turned, compared with the forward convolution's.
enum class Reversal { kNone, kByWindow, kByOperand, kOther };

Reversal ReversalOf(const HloInstruction& convolution) {
  const Window& window = convolution.window();
  const auto& spatial = convolution.convolution_dimension_numbers().kernel_spatial_dimensions();
  const HloInstruction& kernel = *convolution.operand(1);
  const bool has_reverse = kernel.opcode() == xla::HloOpcode::kReverse;
  bool all_by_window = true, none_by_window = true, all_by_operand = has_reverse;
  for (int64_t i = 0; i < window.dimensions_size(); ++i) {
    const WindowDimension& dimension = window.dimensions(i);
    if (dimension.size() == 1) continue;  // turned or not
    all_by_window = all_by_window && dimension.window_reversal();
    none_by_window = none_by_window && !dimension.window_reversal();
    all_by_operand = all_by_operand && absl::c_linear_search(kernel.dimensions(), spatial.Get(i));
  }
  if (has_reverse && all_by_operand && none_by_window) {
    // Other dimensions must stay as they are.
    for (const int64_t reversed : kernel.dimensions()) {
      if (!absl::c_linear_search(spatial, reversed)) return Reversal::kOther;
    }
    return Reversal::kByOperand;
  }
  if (none_by_window && all_by_window) return Reversal::kNone;  // all sizes are one
  if (all_by_window) return Reversal::kByWindow;
  return none_by_window ? Reversal::kNone : Reversal::kOther;
}

std::optional<ConvolutionForm> BackwardDataForm(const HloInstruction& convolution) {
  const Window& given = convolution.window();
  const Reversal reversal = ReversalOf(convolution);
  const bool is_turned = reversal == Reversal::kByWindow || reversal == Reversal::kByOperand;
  if (convolution.batch_group_count() != 1 || xla::window_util::HasStride(given) ||
      reversal == Reversal::kOther || (!is_turned && !xla::window_util::HasBaseDilation(given))) {
    return std::nullopt;
  }
  const ConvolutionDimensionNumbers& numbers = convolution.convolution_dimension_numbers();
  ConvolutionForm form;
  form.kind = ConvolutionKind::BackwardData;
  form.groups = convolution.feature_group_count();
  form.reverse_kernel = !is_turned;
  form.skip_reverse = reversal == Reversal::kByOperand;

  ConvolutionDimensionNumbers& roles = form.dimensions;
  roles = numbers;
  // What is convolved here is the destination's gradient.
  roles.set_output_batch_dimension(numbers.input_batch_dimension());
  roles.set_output_feature_dimension(numbers.input_feature_dimension());
  *roles.mutable_output_spatial_dimensions() = numbers.input_spatial_dimensions();
  roles.set_input_batch_dimension(numbers.output_batch_dimension());
  roles.set_input_feature_dimension(numbers.output_feature_dimension());
  *roles.mutable_input_spatial_dimensions() = numbers.output_spatial_dimensions();
  roles.set_kernel_output_feature_dimension(numbers.kernel_input_feature_dimension());
  roles.set_kernel_input_feature_dimension(numbers.kernel_output_feature_dimension());

  for (int64_t i = 0; i < given.dimensions_size(); ++i) {
    const WindowDimension& dimension = given.dimensions(i);
    const int64_t kernel = dimension.size(), dilation = dimension.window_dilation();
    const int64_t stride = dimension.base_dilation();
    const int64_t positions =
        convolution.operand(0)->shape().dimensions(numbers.input_spatial_dimensions(i));
    const int64_t source = convolution.shape().dimensions(numbers.output_spatial_dimensions(i));
    const int64_t padding_low = (kernel - 1) * dilation - dimension.padding_low();
    const WindowDimension* own = AddDimension(
        form.window, kernel, stride, padding_low,
        PaddingHigh(source, positions, kernel, stride, dilation, padding_low), dilation);
    if (!IsPossible(*own)) return std::nullopt;
  }
  return form;
}

// A convolution can always be read as the gradient of some weights. It is one when the images'
// batch and channels have changed places, or when it sums groups of the batch.
bool LooksLikeWeightGradient(const HloInstruction& convolution) {
  if (convolution.batch_group_count() > 1) return true;
  const ConvolutionDimensionNumbers& numbers = convolution.convolution_dimension_numbers();
  return numbers.input_feature_dimension() < numbers.input_batch_dimension();
}

std::optional<ConvolutionForm> BackwardWeightsForm(const HloInstruction& convolution) {
  const Window& given = convolution.window();
  if (convolution.feature_group_count() != 1 || xla::window_util::HasBaseDilation(given) ||
      xla::window_util::HasWindowReversal(given) || !LooksLikeWeightGradient(convolution)) {
    return std::nullopt;
  }
  const ConvolutionDimensionNumbers& numbers = convolution.convolution_dimension_numbers();
  ConvolutionForm form;
  form.kind = ConvolutionKind::BackwardWeights;
  form.groups = convolution.batch_group_count();

  ConvolutionDimensionNumbers& roles = form.dimensions;
  roles = numbers;
  roles.set_input_batch_dimension(numbers.input_feature_dimension());
  roles.set_input_feature_dimension(numbers.input_batch_dimension());
  // The kernel operand is the destination's gradient.
  roles.set_output_batch_dimension(numbers.kernel_input_feature_dimension());
  roles.set_output_feature_dimension(numbers.kernel_output_feature_dimension());
  *roles.mutable_output_spatial_dimensions() = numbers.kernel_spatial_dimensions();
  roles.set_kernel_input_feature_dimension(numbers.output_batch_dimension());
  roles.set_kernel_output_feature_dimension(numbers.output_feature_dimension());
  *roles.mutable_kernel_spatial_dimensions() = numbers.output_spatial_dimensions();

  for (int64_t i = 0; i < given.dimensions_size(); ++i) {
    const WindowDimension& dimension = given.dimensions(i);
    const int64_t stride = dimension.window_dilation(), dilation = dimension.stride();
    const int64_t kernel = convolution.shape().dimensions(numbers.output_spatial_dimensions(i));
    const int64_t source =
        convolution.operand(0)->shape().dimensions(numbers.input_spatial_dimensions(i));
    const int64_t padding_low = dimension.padding_low();
    const WindowDimension* own = AddDimension(
        form.window, kernel, stride, padding_low,
        PaddingHigh(source, dimension.size(), kernel, stride, dilation, padding_low), dilation);
    if (!IsPossible(*own)) return std::nullopt;
  }
  return form;
}

}  // namespace

std::optional<ConvolutionForm> FormOf(const HloInstruction& convolution) {
  if (auto form = BackwardDataForm(convolution)) return form;
  if (auto form = BackwardWeightsForm(convolution)) return form;
  return ForwardForm(convolution);
}

}  // namespace onexpu::compiler
