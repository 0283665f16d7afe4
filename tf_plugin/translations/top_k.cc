// The greatest elements of rows, with their places. TensorFlow's translation asks XLA for places of
// the op's type, which XLA packs with bfloat16 numbers as if they always had 32 bits.
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/sorting.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

int64_t MostPlaces(tensorflow::DataType type) {
  if (type == tensorflow::DT_INT16) return std::numeric_limits<int16_t>::max();
  if (type == tensorflow::DT_INT32) return std::numeric_limits<int32_t>::max();
  return std::numeric_limits<int64_t>::max();
}

// Inputs: rows, and how many of each (a scalar).
class TopKKernel final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, Translate(context));
  }

 private:
  static absl::Status Translate(XlaOpKernelContext* context) {
    const TensorShape shape = context->InputShape(0);
    if (shape.dims() < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must be >= 1-D, got shape ", shape.DebugString()));
    }
    const int last = shape.dims() - 1;
    const int64_t columns = shape.dim_size(last);
    // Where not even a bound is known, all of a row is found.
    int64_t count = columns;
    (void)context->ConstantInputAsIntScalar(1, &count, xla::ValueInferenceMode::kUpperBound);
    if (count < 0) return absl::InvalidArgumentError(absl::StrCat("Need k >= 0, got ", count));
    if (count > columns) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must have at least k columns. Had ", columns, ", needed ", count));
    }
    const int64_t most = MostPlaces(context->expected_output_dtype(1));
    if (columns > most) {
      return absl::InvalidArgumentError(
          absl::StrCat("Second dimension of flattened input must be <= ", most, ", got ", columns));
    }
    bool is_dynamic = false;
    TF_RETURN_IF_ERROR(context->ResolveInputDynamismIntoPred(1, &is_dynamic));
    const bool is_long = columns > std::numeric_limits<int32_t>::max();
    const XlaOp found = xla::TopK(context->Input(0), count, is_long ? xla::S64 : xla::S32);
    for (int i = 0; i < 2; ++i) {
      XlaOp result = xla::GetTupleElement(found, i);
      if (i == 1) result = xla::ConvertElementType(result, context->output_xla_type(1));
      if (is_dynamic) {
        result = xla::SetDimensionSize(result, xla::ConvertElementType(context->Input(1), xla::S32),
                                       last);
      }
      context->SetOutput(i, result);
    }
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterTopK() {
  constexpr tensorflow::DataType kIndices[] = {tensorflow::DT_INT16, tensorflow::DT_INT32,
                                               tensorflow::DT_INT64};
  tensorflow::XlaOpRegistrationBuilder translation = TranslationOf("TopKV2");
  translation.CompileTimeConstantInput("k")
      .TypeConstraint("Tk", kIndices)
      .TypeConstraint("index_type", kIndices);
  RegisterTranslation<TopKKernel>(std::move(translation));
}

}  // namespace onexpu::tf_plugin
