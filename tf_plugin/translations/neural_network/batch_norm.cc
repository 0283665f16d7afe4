// BatchNormWithGlobalNormalization and its gradient, from before FusedBatchNorm (Ioffe and Szegedy
// 2015): the moments come from the caller, all dimensions but the last are one.
#include "absl/strings/str_cat.h"
#include "tf_plugin/translations/registration.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::ScalarLike;
using ::xla::XlaOp;

class GlobalNormalization : public XlaOpKernel {
 public:
  explicit GlobalNormalization(OpKernelConstruction* construction) : XlaOpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("variance_epsilon", &epsilon_));
    OP_REQUIRES_OK(construction, construction->GetAttr("scale_after_normalization", &is_scaled_));
  }

 protected:
  // Inputs: t, m, v, and two more vectors, or a vector and a gradient.
  absl::Status CheckShapes(XlaOpKernelContext* context, int vectors) const {
    const TensorShape t = context->InputShape(0);
    if (t.dims() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must be 4-dimensional ", t.DebugString()));
    }
    const TensorShape wanted({t.dim_size(3)});
    for (int i = 1; i <= vectors; ++i) {
      if (context->InputShape(i) == wanted) continue;
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " must have shape ",
                                                     wanted.DebugString(), ", but has ",
                                                     context->InputShape(i).DebugString()));
    }
    return absl::OkStatus();
  }

  bool is_scaled() const { return is_scaled_; }
  XlaOp Variance(XlaOpKernelContext* context) const {
    return context->Input(2) + ScalarLike(context->Input(2), epsilon_);
  }

 private:
  float epsilon_ = 0;
  bool is_scaled_ = false;
};

class Normalize final : public GlobalNormalization {
 public:
  using GlobalNormalization::GlobalNormalization;

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckShapes(context, 4));
    XlaOp scale = xla::Rsqrt(Variance(context));
    if (is_scaled()) scale = scale * context->Input(4);
    const XlaOp centered = xla::Sub(context->Input(0), context->Input(1), {3});
    context->SetOutput(0, xla::Add(xla::Mul(centered, scale, {3}), context->Input(3), {3}));
  }
};

// Inputs: t, m, v, gamma, backprop. Results: dx, dm, dv, db, dg.
class NormalizeGradient final : public GlobalNormalization {
 public:
  using GlobalNormalization::GlobalNormalization;

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckShapes(context, 3));
    OP_REQUIRES(context, context->InputShape(4) == context->InputShape(0),
                absl::InvalidArgumentError(
                    absl::StrCat("backprop must have shape ", context->InputShape(0).DebugString(),
                                 ", but has ", context->InputShape(4).DebugString())));
    const xla::PrimitiveType type = context->input_xla_type(0);
    const auto sum = [&](XlaOp x) {
      return xla::Reduce(x, xla::Zero(context->builder(), type),
                         xla::CreateScalarAddComputation(type, context->builder()), {0, 1, 2});
    };
    const XlaOp backprop = context->Input(4), variance = Variance(context);
    const XlaOp scale = xla::Rsqrt(variance);
    const XlaOp gain = is_scaled() ? scale * context->Input(3) : scale;
    const XlaOp db = sum(backprop);
    const XlaOp by_scale = sum(backprop * xla::Sub(context->Input(0), context->Input(1), {3}));
    context->SetOutput(0, xla::Mul(backprop, gain, {3}));
    context->SetOutput(1, -db * gain);
    context->SetOutput(2, by_scale * gain * ScalarLike(gain, -0.5) / variance);
    context->SetOutput(3, db);
    context->SetOutput(4, is_scaled() ? by_scale * scale : xla::ZerosLike(db));
  }
};

}  // namespace

void RegisterGlobalNormalization() {
  RegisterTranslation<Normalize>(TranslationOf("BatchNormWithGlobalNormalization"));
  RegisterTranslation<NormalizeGradient>(TranslationOf("BatchNormWithGlobalNormalizationGrad"));
}

}  // namespace onexpu::tf_plugin
