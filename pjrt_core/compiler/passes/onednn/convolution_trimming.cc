#include "pjrt_core/compiler/passes/onednn/convolution_trimming.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "pjrt_core/base/status_macros.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/literal_util.h"
#include "xla/service/hlo_creation_utils.h"
#include "xla/shape_util.h"
#include "xla/util.h"
#include "xla/window_util.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;

// Elements of an array to keep: in each dimension every `step`-th from `start` to before `limit`.
struct Range {
  explicit Range(const xla::Shape& shape)
      : start(shape.dimensions().size(), 0),
        limit(shape.dimensions().begin(), shape.dimensions().end()),
        step(shape.dimensions().size(), 1) {}

  bool IsEmpty() const {
    for (size_t d = 0; d < start.size(); ++d) {
      if (start[d] >= limit[d]) return true;
    }
    return false;
  }
  absl::StatusOr<HloInstruction*> Of(HloInstruction* array) const {
    const Range whole(array->shape());
    if (start == whole.start && limit == whole.limit && step == whole.step) return array;
    return xla::MakeSliceHlo(array, start, limit, step);
  }

  std::vector<int64_t> start, limit, step;
};

HloInstruction* Zeros(HloInstruction& convolution) {
  xla::HloComputation* const computation = convolution.parent();
  HloInstruction* const zero = computation->AddInstruction(
      HloInstruction::CreateConstant(xla::LiteralUtil::Zero(convolution.shape().element_type())));
  return computation->AddInstruction(
      HloInstruction::CreateBroadcast(convolution.shape(), zero, /*broadcast_dimensions=*/{}));
}

TrimmedConvolution AllZero(HloInstruction& convolution) { return {nullptr, Zeros(convolution)}; }

// A copy over other operands, whose result has the spatial extents that they and `window` give.
absl::StatusOr<HloInstruction*> WithWindow(HloInstruction* convolution, HloInstruction* source,
                                           HloInstruction* kernel, const xla::Window& window) {
  const xla::ConvolutionDimensionNumbers& numbers = convolution->convolution_dimension_numbers();
  xla::Shape shape = convolution->shape();
  for (int64_t i = 0; i < window.dimensions_size(); ++i) {
    const xla::WindowDimension& dimension = window.dimensions(i);
    const int64_t extent = source->shape().dimensions(numbers.input_spatial_dimensions(i));
    const int64_t padded = xla::window_util::DilatedBound(extent, dimension.base_dilation()) +
                           dimension.padding_low() + dimension.padding_high();
    const int64_t size =
        xla::window_util::DilatedBound(dimension.size(), dimension.window_dilation());
    shape.set_dimensions(numbers.output_spatial_dimensions(i),
                         xla::window_util::StridedBound(padded, size, dimension.stride()));
  }
  HloInstruction* const result = convolution->parent()->AddInstruction(
      convolution->CloneWithNewOperands(shape, {source, kernel}));
  result->set_window(window);
  return result;
}

// The kernel as the window reads it. Clears the window's reversals.
HloInstruction* TakeReversal(HloInstruction* kernel, xla::Window& window,
                             const xla::ConvolutionDimensionNumbers& numbers) {
  std::vector<int64_t> reversed;
  for (int64_t i = 0; i < window.dimensions_size(); ++i) {
    xla::WindowDimension& dimension = *window.mutable_dimensions(i);
    if (dimension.window_reversal() && dimension.size() > 1) {
      reversed.push_back(numbers.kernel_spatial_dimensions(i));
    }
    dimension.set_window_reversal(false);
  }
  if (reversed.empty()) return kernel;
  return kernel->parent()->AddInstruction(
      HloInstruction::CreateReverse(kernel->shape(), kernel, reversed));
}

// Without base dilation: negative padding drops elements of the source.
absl::StatusOr<TrimmedConvolution> TrimPlain(HloInstruction* convolution, HloInstruction* kernel,
                                             xla::Window window) {
  const xla::ConvolutionDimensionNumbers& numbers = convolution->convolution_dimension_numbers();
  HloInstruction* source = convolution->mutable_operand(0);
  Range range(source->shape());
  for (int64_t i = 0; i < window.dimensions_size(); ++i) {
    xla::WindowDimension& dimension = *window.mutable_dimensions(i);
    const int64_t d = numbers.input_spatial_dimensions(i);
    range.start[d] = std::max<int64_t>(-dimension.padding_low(), 0);
    range.limit[d] -= std::max<int64_t>(-dimension.padding_high(), 0);
    dimension.set_padding_low(std::max<int64_t>(dimension.padding_low(), 0));
    dimension.set_padding_high(std::max<int64_t>(dimension.padding_high(), 0));
  }
  if (range.IsEmpty()) return AllZero(*convolution);
  ONEXPU_ASSIGN_OR_RETURN(source, range.Of(source));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * plain, WithWindow(convolution, source, kernel, window));
  return TrimmedConvolution{plain, plain};
}

// With base dilation: the results at all positions from the first to the last that see an element
// of the source, at steps of one; the strides then take theirs, and the rest are zeros.
absl::StatusOr<TrimmedConvolution> TrimDilated(HloInstruction* convolution, HloInstruction* kernel,
                                               xla::Window window) {
  const xla::ConvolutionDimensionNumbers& numbers = convolution->convolution_dimension_numbers();
  HloInstruction* source = convolution->mutable_operand(0);
  Range read(source->shape());
  Range taken(convolution->shape());
  xla::PaddingConfig zeros = xla::MakeNoPaddingConfig(convolution->shape().dimensions().size());
  double computed = 1;
  for (int64_t i = 0; i < window.dimensions_size(); ++i) {
    xla::WindowDimension& dimension = *window.mutable_dimensions(i);
    const int64_t base = dimension.base_dilation(), stride = dimension.stride();
    const int64_t reach = (dimension.size() - 1) * dimension.window_dilation();
    const int64_t in = numbers.input_spatial_dimensions(i);
    const int64_t out = numbers.output_spatial_dimensions(i);
    const int64_t results = convolution->shape().dimensions(out);
    const int64_t last = (results - 1) * stride;  // the last position
    int64_t low = dimension.padding_low();

    // The elements of the source that any position reads.
    const int64_t reads_to = last - low + reach;
    if (reads_to < 0) return AllZero(*convolution);
    read.start[in] = std::max<int64_t>(xla::CeilOfRatio<int64_t>(-low, base), 0);
    read.limit[in] = std::min(read.limit[in], reads_to / base + 1);
    if (read.start[in] >= read.limit[in]) return AllZero(*convolution);
    low += read.start[in] * base;
    int64_t source_end = (read.limit[in] - read.start[in] - 1) * base;  // its last element

    // The positions that see one of them, and those of the strides among them.
    const int64_t first_seeing = std::max<int64_t>(low - reach, 0);
    const int64_t first = xla::CeilOfRatio(first_seeing, stride);
    const int64_t end = std::min(low + source_end, last) / stride + 1;
    if (first >= end) return AllZero(*convolution);
    // No padding of the gradient's own convolution may be negative, so the source ends no earlier
    // than the positions.
    const int64_t last_taken = (end - 1) * stride;
    const int64_t last_read =
        std::max((last_taken - low + reach) / base, xla::CeilOfRatio(last_taken - low, base));
    read.limit[in] = std::min(read.limit[in], read.start[in] + last_read + 1);
    source_end = (read.limit[in] - read.start[in] - 1) * base;
    taken.start[out] = first * stride - first_seeing;
    taken.limit[out] = (end - 1) * stride - first_seeing + 1;
    taken.step[out] = stride;
    zeros.mutable_dimensions(out)->set_edge_padding_low(first);
    zeros.mutable_dimensions(out)->set_edge_padding_high(results - end);
    computed *= static_cast<double>(taken.limit[out]) / static_cast<double>(results);

    low -= first_seeing;
    dimension.set_stride(1);
    dimension.set_padding_low(low);
    dimension.set_padding_high(taken.limit[out] - 1 - low + reach - source_end);
  }
  // A kernel of ours computes only what is asked for, but without vectors.
  constexpr double kMaxComputedRatio = 32;
  if (computed > kMaxComputedRatio) return TrimmedConvolution{};
  ONEXPU_ASSIGN_OR_RETURN(source, read.Of(source));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * dense, WithWindow(convolution, source, kernel, window));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * result, taken.Of(dense));
  if (!xla::ShapeUtil::SameDimensions(result->shape(), convolution->shape())) {
    HloInstruction* const zero = convolution->parent()->AddInstruction(
        HloInstruction::CreateConstant(xla::LiteralUtil::Zero(result->shape().element_type())));
    ONEXPU_ASSIGN_OR_RETURN(result, xla::MakePadHlo(result, zero, zeros));
  }
  return TrimmedConvolution{dense, result};
}

}  // namespace

absl::StatusOr<TrimmedConvolution> TrimConvolution(HloInstruction* convolution) {
  xla::Window window = convolution->window();
  HloInstruction* const kernel = TakeReversal(convolution->mutable_operand(1), window,
                                              convolution->convolution_dimension_numbers());
  return xla::window_util::HasBaseDilation(window) ? TrimDilated(convolution, kernel, window)
                                                   : TrimPlain(convolution, kernel, window);
}

absl::StatusOr<TrimmedConvolution> SampleConvolution(HloInstruction* convolution) {
  const xla::ConvolutionDimensionNumbers& numbers = convolution->convolution_dimension_numbers();
  HloInstruction* source = convolution->mutable_operand(0);
  HloInstruction* kernel = convolution->mutable_operand(1);
  xla::Window window = convolution->window();
  Range read(source->shape());
  Range taps(kernel->shape());
  for (int64_t i = 0; i < window.dimensions_size(); ++i) {
    xla::WindowDimension& dimension = *window.mutable_dimensions(i);
    const int64_t in = numbers.input_spatial_dimensions(i);
    const int64_t tap = numbers.kernel_spatial_dimensions(i);
    const int64_t step = dimension.window_dilation(), low = dimension.padding_low();
    const int64_t last = source->shape().dimensions(in) - 1 + low;  // the last tap's upper limit
    if (last < 0) return AllZero(*convolution);
    taps.start[tap] = std::max<int64_t>(xla::CeilOfRatio(low, step), 0);
    taps.limit[tap] = std::min(taps.limit[tap], last / step + 1);
    if (taps.start[tap] >= taps.limit[tap]) return AllZero(*convolution);
    read.start[in] = taps.start[tap] * step - low;
    read.limit[in] = (taps.limit[tap] - 1) * step - low + 1;
    read.step[in] = step;
    dimension.set_size(taps.limit[tap] - taps.start[tap]);
    dimension.set_window_dilation(1);
    dimension.set_padding_low(0);
    dimension.set_padding_high(0);
  }
  ONEXPU_ASSIGN_OR_RETURN(source, read.Of(source));
  ONEXPU_ASSIGN_OR_RETURN(kernel, taps.Of(kernel));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * sampled,
                          WithWindow(convolution, source, kernel, window));
  return TrimmedConvolution{sampled, sampled};
}

}  // namespace onexpu::compiler
