// LRN and LRNGrad of every type. TensorFlow's translations mix the operand with float32 constants,
// and so accept float32 only.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/padding.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// Computes with float32 whatever the operand's type: images have the shape [batch, rows, columns,
// depth], and the window lies along the depth.
class LocalResponse : public XlaOpKernel {
 public:
  explicit LocalResponse(OpKernelConstruction* construction) : XlaOpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("depth_radius", &radius_));
    OP_REQUIRES_OK(construction, construction->GetAttr("bias", &bias_));
    OP_REQUIRES_OK(construction, construction->GetAttr("alpha", &alpha_));
    OP_REQUIRES_OK(construction, construction->GetAttr("beta", &beta_));
    OP_REQUIRES(construction, radius_ >= 0 && radius_ <= std::numeric_limits<int32_t>::max(),
                absl::InvalidArgumentError(
                    absl::StrCat("depth_radius = ", radius_, " is negative or above int32")));
  }

 protected:
  float alpha() const { return alpha_; }
  float beta() const { return beta_; }

  static XlaOp Image(XlaOpKernelContext* context, int input) {
    return xla::ConvertElementType(context->Input(input), xla::F32);
  }

  // The sum of each element and of its neighbors up to the radius.
  XlaOp WindowSum(XlaOp x, int64_t depth) const {
    const int64_t radius = std::min(radius_, depth);
    return xla::ReduceWindow(x, xla::Zero(x.builder(), xla::F32),
                             xla::CreateScalarAddComputation(xla::F32, x.builder()),
                             /*window_dimensions=*/{1, 1, 1, 2 * radius + 1},
                             /*window_strides=*/{1, 1, 1, 1}, xla::Padding::kSame);
  }

  XlaOp Norm(XlaOp image, int64_t depth) const {
    const XlaOp squares = WindowSum(image * image, depth);
    return xla::ScalarLike(image, bias_) + xla::ScalarLike(image, alpha_) * squares;
  }

  XlaOp Scale(XlaOp norm) const { return xla::Pow(norm, xla::ScalarLike(norm, -beta_)); }

  static void SetResult(XlaOpKernelContext* context, XlaOp result) {
    context->SetOutput(0, xla::ConvertElementType(result, context->input_xla_type(0)));
  }

 private:
  int64_t radius_ = 0;
  float bias_ = 0;
  float alpha_ = 0;
  float beta_ = 0;
};

class Lrn final : public LocalResponse {
 public:
  using LocalResponse::LocalResponse;

  void Compile(XlaOpKernelContext* context) override {
    const TensorShape shape = context->InputShape(0);
    OP_REQUIRES(context, shape.dims() == 4, absl::InvalidArgumentError("in must be 4-dimensional"));
    const XlaOp image = Image(context, 0);
    SetResult(context, image * Scale(Norm(image, shape.dim_size(3))));
  }
};

// Inputs: the gradient of the result, the operand, the result.
class LrnGradient final : public LocalResponse {
 public:
  using LocalResponse::LocalResponse;

  void Compile(XlaOpKernelContext* context) override {
    const TensorShape shape = context->InputShape(0);
    OP_REQUIRES(context, shape.dims() == 4 && context->InputShape(1).dims() == 4,
                absl::InvalidArgumentError("inputs must be 4-dimensional"));
    OP_REQUIRES(context, shape == context->InputShape(1) && shape == context->InputShape(2),
                absl::InvalidArgumentError(
                    "input_grads, input_image, and out_image should have the same shape"));
    const XlaOp gradient = Image(context, 0), image = Image(context, 1), result = Image(context, 2);
    const int64_t depth = shape.dim_size(3);
    const XlaOp norm = Norm(image, depth);
    const XlaOp through_norm =
        xla::ScalarLike(image, -2.0f * alpha() * beta()) * (result / norm) * gradient;
    SetResult(context, image * WindowSum(through_norm, depth) + gradient * Scale(norm));
  }
};

}  // namespace

void RegisterLocalResponseNormalization() {
  RegisterTranslation<Lrn>(TranslationOf("LRN"));
  RegisterTranslation<LrnGradient>(TranslationOf("LRNGrad"));
}

}  // namespace onexpu::tf_plugin
