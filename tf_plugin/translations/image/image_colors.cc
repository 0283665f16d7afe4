// AdjustHue, AdjustSaturation, both versions of AdjustContrast and RGBToHSV, as TensorFlow's CPU
// kernels compute them for any pixels and arguments. TensorFlow's translation of AdjustHue goes
// through the saturation, which colors below zero do not have.
#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::ScalarLike;
using ::xla::XlaOp;

constexpr int kChannels = 3;

using Color = std::array<XlaOp, kChannels>;  // red, green, blue of every pixel

absl::Status CheckImages(const TensorShape& shape) {
  if (shape.dims() >= 3) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input must be at least 3-D, got shape", shape.DebugString()));
}

absl::Status CheckScalar(XlaOpKernelContext* context, int input, const char* name) {
  const TensorShape shape = context->InputShape(input);
  if (shape.dims() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " must be scalar: ", shape.DebugString()));
}

XlaOp FloatInput(XlaOpKernelContext* context, int input) {
  return xla::ConvertElementType(context->Input(input), xla::F32);
}

// The colors of the first input, as F32. The second input is the scalar `argument`.
absl::Status ReadColor(XlaOpKernelContext* context, const char* argument, Color& color) {
  const TensorShape shape = context->InputShape(0);
  TF_RETURN_IF_ERROR(CheckImages(shape));
  TF_RETURN_IF_ERROR(CheckScalar(context, 1, argument));
  const int last = shape.dims() - 1;
  if (shape.dim_size(last) != kChannels) {
    return absl::InvalidArgumentError(absl::StrCat("input must have 3 channels but instead has ",
                                                   shape.dim_size(last), " channels."));
  }
  const XlaOp images = FloatInput(context, 0);
  for (int i = 0; i < kChannels; ++i) color[i] = xla::SliceInDim(images, i, i + 1, 1, last);
  return absl::OkStatus();
}

void SetColor(XlaOpKernelContext* context, const Color& color) {
  const XlaOp images =
      xla::ConcatInDim(context->builder(), color, context->InputShape(0).dims() - 1);
  context->SetOutput(0, xla::ConvertElementType(images, context->input_xla_type(0)));
}

// std::max and std::min of C++: the first one unless the second is larger or smaller.
XlaOp LargerOf(XlaOp x, XlaOp y) { return xla::Select(xla::Lt(x, y), y, x); }
XlaOp SmallerOf(XlaOp x, XlaOp y) { return xla::Select(xla::Lt(y, x), y, x); }

// Of six sextants of the hue the value for each; the last one for what is in none.
XlaOp BySextant(XlaOp sextant, const std::array<XlaOp, 6>& values) {
  XlaOp result = values[5];
  for (int i = 4; i >= 0; --i) {
    result = xla::Select(xla::Eq(sextant, ScalarLike(sextant, i)), values[i], result);
  }
  return result;
}

// Inputs: images [..., rows, columns, 3], delta in turns.
class AdjustHue final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    Color color;
    OP_REQUIRES_OK(context, ReadColor(context, "delta", color));
    const auto& [red, green, blue] = color;
    // The sextants by the order of the channels, and of two equal channels either.
    const auto pick = [&, green_above_red = xla::Lt(red, green), below_red = xla::Lt(blue, red),
                       below_green = xla::Lt(blue, green), above_red = xla::Gt(blue, red),
                       above_green = xla::Gt(blue, green)](const std::array<XlaOp, 6>& by_sextant) {
      return xla::Select(green_above_red,
                         xla::Select(below_red, by_sextant[1],
                                     xla::Select(above_green, by_sextant[3], by_sextant[2])),
                         xla::Select(below_green, by_sextant[0],
                                     xla::Select(above_red, by_sextant[4], by_sextant[5])));
    };
    const XlaOp highest = pick({red, green, green, blue, blue, red});
    const XlaOp middle = pick({green, red, blue, green, red, blue});
    const XlaOp lowest = pick({blue, blue, red, red, green, green});
    const XlaOp ratio = (middle - lowest) / (highest - lowest);
    const XlaOp falling = ScalarLike(ratio, 1) - ratio;
    const auto after = [](XlaOp x, float start) { return ScalarLike(x, start) + x; };
    XlaOp hue = pick({after(ratio, 0), after(falling, 1), after(ratio, 2), after(falling, 3),
                      after(ratio, 4), after(falling, 5)});
    hue = xla::Select(xla::Eq(highest, lowest), xla::ZerosLike(hue), hue);
    const XlaOp turn = ScalarLike(hue, 6);
    hue = xla::Rem(hue + FloatInput(context, 1) * turn, turn);
    hue = xla::Select(xla::Lt(hue, xla::ZerosLike(hue)), hue + turn, hue);
    // A hue just below zero rounds to a whole turn.
    hue = xla::Select(xla::Ge(hue, turn), hue - turn, hue);
    const XlaOp sextant = xla::Floor(hue);
    const XlaOp share = hue - sextant;
    const XlaOp rising = lowest + share * (highest - lowest);
    const XlaOp sinking = lowest + (ScalarLike(share, 1) - share) * (highest - lowest);
    SetColor(context, {BySextant(sextant, {highest, sinking, lowest, lowest, rising, highest}),
                       BySextant(sextant, {rising, highest, highest, sinking, lowest, lowest}),
                       BySextant(sextant, {lowest, lowest, rising, highest, highest,
                                           // A hue that is not a number has no sextant.
                                           xla::Select(xla::Ne(hue, hue), hue, sinking)})});
  }
};

// Inputs: images [..., rows, columns, 3], the factor of the saturation.
class AdjustSaturation final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    Color color;
    OP_REQUIRES_OK(context, ReadColor(context, "scale", color));
    const auto& [red, green, blue] = color;
    const XlaOp value = LargerOf(red, LargerOf(green, blue));
    const XlaOp range = value - SmallerOf(red, SmallerOf(green, blue));
    const XlaOp zero = xla::ZerosLike(value), one = ScalarLike(value, 1);
    const XlaOp norm = one / (ScalarLike(range, 6) * range);
    XlaOp hue = xla::Select(
        xla::Eq(red, value), norm * (green - blue),
        xla::Select(xla::Eq(green, value), norm * (blue - red) + ScalarLike(norm, 2.0 / 6),
                    norm * (red - green) + ScalarLike(norm, 4.0 / 6)));
    hue = xla::Select(xla::Le(range, zero), zero, hue);
    hue = xla::Select(xla::Lt(hue, zero), hue + one, hue);
    const XlaOp saturation = xla::Select(xla::Gt(value, zero), range / value, zero);
    const XlaOp scaled = SmallerOf(one, LargerOf(zero, saturation * FloatInput(context, 1)));
    const XlaOp chroma = scaled * value, rest = value - chroma;
    const XlaOp sixths = hue * ScalarLike(hue, 6);
    const XlaOp sextant = xla::Floor(sixths);
    const XlaOp second = chroma * (one - xla::Abs(xla::Rem(sixths, ScalarLike(sixths, 2)) - one));
    // A hue just below zero rounds to a whole turn, which like NaN has no sextant, and so no
    // chroma.
    const XlaOp is_hue = xla::Lt(sextant, ScalarLike(sextant, 6));
    const auto channel = [&](const std::array<XlaOp, 6>& values) {
      return xla::Select(is_hue, BySextant(sextant, values), zero) + rest;
    };
    SetColor(context, {channel({chroma, second, zero, zero, second, chroma}),
                       channel({second, chroma, chroma, second, zero, zero}),
                       channel({zero, zero, second, chroma, chroma, second})});
  }
};

// Input: colors [..., 3]. Computes in the type of the colors.
class RgbToHsv final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    const TensorShape shape = context->InputShape(0);
    OP_REQUIRES(context, shape.dims() >= 1,
                absl::InvalidArgumentError(
                    absl::StrCat("input must be at least 1D, got shape ", shape.DebugString())));
    const int last = shape.dims() - 1;
    OP_REQUIRES(
        context, shape.dim_size(last) == kChannels,
        absl::FailedPreconditionError(absl::StrCat("input must have 3 channels but input only has ",
                                                   shape.dim_size(last), " channels.")));
    Color color;
    for (int i = 0; i < kChannels; ++i) {
      color[i] = xla::SliceInDim(context->Input(0), i, i + 1, 1, last);
    }
    const auto& [red, green, blue] = color;
    // Of a NaN and a number, the later one.
    const XlaOp value = LargerOf(blue, LargerOf(green, red));
    const auto smaller = [](XlaOp x, XlaOp y) { return xla::Select(xla::Lt(x, y), x, y); };
    const XlaOp range = value - smaller(smaller(red, green), blue);
    const XlaOp zero = xla::ZerosLike(value), one = ScalarLike(value, 1);
    const XlaOp saturation = xla::Select(xla::Gt(value, zero), range / value, zero);
    const XlaOp norm = one / range * (one / ScalarLike(value, 6));
    XlaOp hue = xla::Select(
        xla::Eq(red, value), norm * (green - blue),
        xla::Select(xla::Eq(green, value), norm * (blue - red) + ScalarLike(norm, 2.0 / 6),
                    norm * (red - green) + ScalarLike(norm, 4.0 / 6)));
    hue = xla::Select(xla::Gt(range, zero), hue, zero);
    hue = xla::Select(xla::Lt(hue, zero), hue + one, hue);
    context->SetOutput(0, xla::ConcatInDim(context->builder(), {hue, saturation, value}, last));
  }
};

// Inputs: images [..., rows, columns, channels], contrast_factor; in the first version also
// min_value and max_value, of which the first one holds where they cross.
template <int version>
class AdjustContrast final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    const TensorShape shape = context->InputShape(0);
    OP_REQUIRES_OK(context, CheckImages(shape));
    constexpr const char* kNames[] = {"contrast_factor", "min_value", "max_value"};
    for (int i = 1; i < context->num_inputs(); ++i) {
      OP_REQUIRES_OK(context, CheckScalar(context, i, kNames[i - 1]));
    }
    const int64_t rank = shape.dims();
    const XlaOp images = FloatInput(context, 0);
    const XlaOp sum = xla::Reduce(images, xla::Zero(context->builder(), xla::F32),
                                  xla::CreateScalarAddComputation(xla::F32, context->builder()),
                                  {rank - 3, rank - 2});
    const auto size = [&](int64_t dimension) {
      return xla::ConvertElementType(xla::GetDimensionSize(images, dimension), xla::F32);
    };
    const XlaOp mean = sum / (size(rank - 3) * size(rank - 2));
    std::vector<int64_t> kept;
    for (int64_t i = 0; i < rank - 3; ++i) kept.push_back(i);
    kept.push_back(rank - 1);
    const XlaOp on_all = xla::BroadcastInDim(mean, shape.dim_sizes(), kept);
    XlaOp adjusted = (images - on_all) * FloatInput(context, 1) + on_all;
    if (version == 1) {
      adjusted = xla::Max(xla::Min(adjusted, context->Input(3)), context->Input(2));
    }
    context->SetOutput(0, xla::ConvertElementType(adjusted, context->output_xla_type(0)));
  }
};

}  // namespace

void RegisterImageColors() {
  RegisterTranslation<AdjustHue>(TranslationOf("AdjustHue"));
  RegisterTranslation<AdjustSaturation>(TranslationOf("AdjustSaturation"));
  RegisterTranslation<AdjustContrast<1>>(TranslationOf("AdjustContrast"));
  RegisterTranslation<AdjustContrast<2>>(TranslationOf("AdjustContrastv2"));
  RegisterTranslation<RgbToHsv>(TranslationOf("RGBToHSV"));
}

}  // namespace onexpu::tf_plugin
