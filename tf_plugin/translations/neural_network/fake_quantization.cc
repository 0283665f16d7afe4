// FakeQuantWithMinMaxArgs, -Vars, -VarsPerChannel and their gradients: the roundings of
// TensorFlow's CPU kernels, step by step, so that values between two levels go to the same one.
// TensorFlow's translations multiply by the inverse of the step where the kernels divide.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/math.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::ScalarLike;
using ::xla::XlaOp;

// Where the range is from: attributes, scalars, or vectors along the last dimension.
enum class Source { kArgs, kVars, kChannels };

// A range that was moved so that zero is one of its levels; all of the shape of its limits.
struct Range {
  XlaOp low, high;
  XlaOp step, inverse_step;
  XlaOp is_zero;  // both limits
};

class RangeAttributes {
 public:
  absl::Status Read(OpKernelConstruction* construction, Source source) {
    int bits = 0;
    bool is_narrow = false;
    absl::Status status = construction->GetAttr("num_bits", &bits);
    status.Update(construction->GetAttr("narrow_range", &is_narrow));
    if (!status.ok()) return status;
    if (bits < 2 || bits > 16) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_bits must be between 2 and 16, inclusive, was: ", bits));
    }
    first_ = is_narrow ? 1.0F : 0.0F;
    last_ = static_cast<float>((1 << bits) - 1);
    if (source != Source::kArgs) return absl::OkStatus();
    status.Update(construction->GetAttr("min", &min_));
    status.Update(construction->GetAttr("max", &max_));
    if (!status.ok() || min_ < max_) return status;
    return absl::InvalidArgumentError(
        absl::StrCat("min has to be smaller than max, was: ", min_, " >= ", max_));
  }

  Range OfArgs(xla::XlaBuilder* builder) const {
    return Of(xla::ConstantR0<float>(builder, min_), xla::ConstantR0<float>(builder, max_));
  }

  Range Of(XlaOp min, XlaOp max) const {
    const XlaOp span = max - min, zero = xla::ZerosLike(min), first = ScalarLike(min, first_),
                last = ScalarLike(min, last_);
    // Selected, which changes no value: the simplifier replaces a division by a constant by a
    // product, and one by a quotient by a product and a division, which round otherwise.
    const XlaOp is_nothing = xla::Eq(span, zero);
    const XlaOp steps =
        xla::Select(is_nothing, ScalarLike(span, 1), ScalarLike(span, last_ - first_));
    const XlaOp step = xla::Select(is_nothing, span, span / steps);
    const XlaOp position = first - min / step;  // of zero
    const XlaOp rounded = xla::Select(xla::Ne(position, position), zero, xla::Round(position));
    const XlaOp level = xla::Select(xla::Lt(position, first), first,
                                    xla::Select(xla::Gt(position, last), last, rounded));
    return {(first - level) * step, (last - level) * step, step,
            ScalarLike(span, last_ - first_) / span,
            xla::And(xla::Eq(min, zero), xla::Eq(max, zero))};
  }

 private:
  float first_ = 0, last_ = 0;  // levels
  float min_ = 0, max_ = 0;
};

// What both directions share. Inputs from number `operands` on: the range, unless attributes say
// it.
template <Source source, int operands>
class FakeQuantization : public XlaOpKernel {
 public:
  explicit FakeQuantization(OpKernelConstruction* construction) : XlaOpKernel(construction) {
    OP_REQUIRES_OK(construction, attributes_.Read(construction, source));
  }

 protected:
  Range RangeOf(XlaOpKernelContext* context) const {
    if (source == Source::kArgs) return attributes_.OfArgs(context->builder());
    return attributes_.Of(context->Input(operands), context->Input(operands + 1));
  }

  // Something of the range, for every element of the first input.
  static XlaOp OnAll(XlaOpKernelContext* context, XlaOp x) {
    const auto shape = context->InputShape(0);
    std::vector<int64_t> dimensions;
    if (source == Source::kChannels) dimensions.push_back(shape.dims() - 1);
    return xla::BroadcastInDim(x, shape.dim_sizes(), dimensions);
  }

 private:
  RangeAttributes attributes_;
};

// Inputs: x, the range.
template <Source source>
class Forward final : public FakeQuantization<source, 1> {
 public:
  using FakeQuantization<source, 1>::FakeQuantization;

  void Compile(XlaOpKernelContext* context) override {
    const Range range = this->RangeOf(context);
    const auto on_all = [&](XlaOp x) { return this->OnAll(context, x); };
    const XlaOp x = context->Input(0);
    const XlaOp low = on_all(range.low), step = on_all(range.step);
    const XlaOp half = ScalarLike(range.low, 0.5);
    const XlaOp zero_level = on_all(xla::Floor(-range.low * range.inverse_step + half));
    const XlaOp shifted = xla::Max(xla::Min(x, on_all(range.high)), low) - low;
    const XlaOp steps =
        source == Source::kVars ? shifted / step : shifted * on_all(range.inverse_step);
    const XlaOp quantized = xla::Floor(steps - zero_level + ScalarLike(steps, 0.5)) * step;
    context->SetOutput(0, source == Source::kArgs
                              ? quantized
                              : xla::Select(on_all(range.is_zero), xla::ZerosLike(x), quantized));
  }
};

// Inputs: gradients, x, the range. A slope passes where x is within the range, and belongs to the
// limit that x is beyond.
template <Source source>
class Gradient final : public FakeQuantization<source, 2> {
 public:
  using FakeQuantization<source, 2>::FakeQuantization;

  void Compile(XlaOpKernelContext* context) override {
    const Range range = this->RangeOf(context);
    const auto on_all = [&](XlaOp x) { return this->OnAll(context, x); };
    const XlaOp gradients = context->Input(0), x = context->Input(1);
    const XlaOp low = on_all(range.low), high = on_all(range.high);
    // Slopes that are not finite count everywhere.
    const auto where = [&](XlaOp condition) {
      return xla::Select(condition, gradients, gradients * xla::ScalarLike(gradients, 0));
    };
    const XlaOp within = where(xla::And(xla::Ge(x, low), xla::Le(x, high)));
    if (source == Source::kArgs) {
      context->SetOutput(0, within);
      return;
    }
    context->SetOutput(0, xla::Select(on_all(range.is_zero), gradients, within));
    std::vector<int64_t> summed;
    const int rank = context->InputShape(0).dims();
    for (int i = 0; i < (source == Source::kChannels ? rank - 1 : rank); ++i) summed.push_back(i);
    const auto sum = [&](XlaOp slopes) {
      const XlaOp total =
          xla::Reduce(slopes, xla::Zero(context->builder(), xla::F32),
                      xla::CreateScalarAddComputation(xla::F32, context->builder()), summed);
      return xla::Select(range.is_zero, xla::ZerosLike(total), total);
    };
    context->SetOutput(1, sum(where(xla::Lt(x, low))));
    context->SetOutput(2, sum(where(xla::Gt(x, high))));
  }
};

}  // namespace

void RegisterFakeQuantization() {
  RegisterTranslation<Forward<Source::kArgs>>(TranslationOf("FakeQuantWithMinMaxArgs"));
  RegisterTranslation<Forward<Source::kVars>>(TranslationOf("FakeQuantWithMinMaxVars"));
  RegisterTranslation<Forward<Source::kChannels>>(
      TranslationOf("FakeQuantWithMinMaxVarsPerChannel"));
  RegisterTranslation<Gradient<Source::kArgs>>(TranslationOf("FakeQuantWithMinMaxArgsGradient"));
  RegisterTranslation<Gradient<Source::kVars>>(TranslationOf("FakeQuantWithMinMaxVarsGradient"));
  RegisterTranslation<Gradient<Source::kChannels>>(
      TranslationOf("FakeQuantWithMinMaxVarsPerChannelGradient"));
}

}  // namespace onexpu::tf_plugin
