// Softmax and LogSoftmax along the last dimension. TensorFlow's translations write an MLIR module
// for each (elementwise/unary_functions.cc says what that costs).
#include <numeric>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/compiler/tf2xla/xla_helpers.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::XlaHelpers;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

template <bool is_logarithm>
class Softmax final : public Translation {
 public:
  using Translation::Translation;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const tensorflow::TensorShape shape = context->InputShape(0);
    if (shape.dims() < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("logits must have >= 1 dimension, got ", shape.DebugString()));
    }
    const XlaOp logits = context->Input(0);
    const DataType type = context->input_type(0);
    const xla::PrimitiveType xla_type = context->input_xla_type(0);
    const int64_t last = shape.dims() - 1;
    std::vector<int64_t> rows(last);
    std::iota(rows.begin(), rows.end(), 0);
    const XlaOp maxima = xla::Reduce(logits, xla::MinValue(context->builder(), xla_type),
                                     *context->GetOrCreateMax(type), {last});
    const XlaOp shifted = xla::Sub(logits, maxima, rows);
    const XlaOp exponentials = xla::Exp(shifted);
    // Sums of 16-bit floats have f32.
    const DataType wide = XlaHelpers::SumAccumulationType(type);
    const XlaOp sums = XlaHelpers::ConvertElementType(
        xla::Reduce(XlaHelpers::ConvertElementType(exponentials, wide),
                    XlaHelpers::Zero(context->builder(), wide), *context->GetOrCreateAdd(wide),
                    {last}),
        type);
    context->SetOutput(0, is_logarithm ? xla::Sub(shifted, xla::Log(sums), rows)
                                       : xla::Div(exponentials, sums, rows));
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterSoftmax() {
  RegisterTranslation<Softmax<false>>(TranslationOf("Softmax"));
  RegisterTranslation<Softmax<true>>(TranslationOf("LogSoftmax"));
}

}  // namespace onexpu::tf_plugin
