// ApproximateEqual of numbers whose distance is the tolerance, and UpperBound and Bucketize of NaN,
// as TensorFlow's kernels have them: such numbers are equal, and NaN belongs behind all others.
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "tf_plugin/translations/cpu_translation.h"
#include "tf_plugin/translations/dynamic_sizes/common_bounds.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/primitive_util.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// Inputs: x, y. Attribute: tolerance.
class ApproximateEqual final : public XlaOpKernel {
 public:
  explicit ApproximateEqual(OpKernelConstruction* construction) : XlaOpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("tolerance", &tolerance_));
  }

  void Compile(XlaOpKernelContext* context) override {
    XlaOp x = context->Input(0), y = context->Input(1);
    OP_REQUIRES_OK(context, UseCommonBounds(x, y));
    const XlaOp distance = xla::Abs(x - y);
    // Magnitudes of complex numbers are real, and integers compare with the tolerance as they are.
    const XlaOp rounded = xla::ConvertElementType(
        xla::ConstantR0<float>(context->builder(), tolerance_), RealType(context));
    context->SetOutput(0, xla::Le(distance, rounded));
  }

 private:
  static xla::PrimitiveType RealType(XlaOpKernelContext* context) {
    const xla::PrimitiveType type = context->input_xla_type(0);
    return xla::primitive_util::IsComplexType(type)
               ? xla::primitive_util::ComplexComponentType(type)
               : type;
  }

  float tolerance_ = 0;
};

bool IsFloat(XlaOpKernelContext* context, int input) {
  return xla::primitive_util::IsFloatingPointType(context->input_xla_type(input));
}

// Inputs: sorted rows, values to find in them.
class UpperBound final : public CorrectedTranslation {
 public:
  using CorrectedTranslation::CorrectedTranslation;

 private:
  absl::StatusOr<XlaOp> Correct(XlaOpKernelContext* context, XlaOp result) const override {
    if (!IsFloat(context, 1)) return result;
    const XlaOp values = context->Input(1);
    const XlaOp columns = xla::ConvertElementType(xla::GetDimensionSize(context->Input(0), 1),
                                                  context->output_xla_type(0));
    return xla::Select(xla::Ne(values, values), xla::ZerosLike(result) + columns, result);
  }
};

// Input: values. Attribute: boundaries.
class Bucketize final : public CorrectedTranslation {
 public:
  explicit Bucketize(OpKernelConstruction* construction) : CorrectedTranslation(construction) {
    std::vector<float> boundaries;
    OP_REQUIRES_OK(construction, construction->GetAttr("boundaries", &boundaries));
    boundaries_ = static_cast<int64_t>(boundaries.size());
  }

 private:
  absl::StatusOr<XlaOp> Correct(XlaOpKernelContext* context, XlaOp result) const override {
    if (!IsFloat(context, 0)) return result;
    const XlaOp values = context->Input(0);
    return xla::Select(xla::Ne(values, values),
                       xla::ZerosLike(result) + xla::ScalarLike(result, boundaries_), result);
  }

  int64_t boundaries_ = 0;
};

}  // namespace

void RegisterComparisons() {
  RegisterTranslation<ApproximateEqual>(TranslationOf("ApproximateEqual"));
  RegisterTranslation<UpperBound>(TranslationOf("UpperBound"));
  RegisterTranslation<Bucketize>(TranslationOf("Bucketize"));
}

}  // namespace onexpu::tf_plugin
