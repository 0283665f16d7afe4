// ArgMax and ArgMin of floats with NaN, and InTopKV2 of values that are not finite, as TensorFlow's
// kernels for CPUs and GPUs have them. TensorFlow's translations let NaN be the extreme.
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// Inputs: an array, the dimension to search. The kernels start with index 0 and the lowest finite
// value (the highest, for ArgMin) and go on to what is above it, so NaN and infinities of the wrong
// sign are never found.
template <bool is_max>
class ArgExtreme final : public Translation {
 public:
  using Translation::Translation;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const TensorShape shape = context->InputShape(0);
    int64_t dimension = 0;
    TF_RETURN_IF_ERROR(context->ConstantInputAsIntScalar(1, &dimension));
    const int64_t rank = shape.dims();
    if (dimension < -rank || dimension >= rank) {
      return absl::InvalidArgumentError(absl::StrCat("Expected dimension in the range [", -rank,
                                                     ", ", rank, "), but got ", dimension));
    }
    if (dimension < 0) dimension += rank;
    if (shape.dim_size(dimension) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Reduction axis ", dimension, " is empty in shape ", shape.DebugString()));
    }
    XlaOp x = context->Input(0);
    xla::PrimitiveType type = context->input_xla_type(0);
    if (type == xla::PRED) {
      type = xla::U8;
      x = xla::ConvertElementType(x, type);
    }
    const bool is_float = xla::primitive_util::IsFloatingPointType(type);
    // The minimum is the maximum of the reversed order.
    if (!is_max) x = is_float ? -x : xla::Not(x);
    if (is_float) {
      const XlaOp lowest = xla::MinFiniteValue(context->builder(), type);
      x = xla::Select(xla::Ge(x, lowest), x, lowest);
    }
    const xla::PrimitiveType index_type = context->output_xla_type(0);
    const int axis = static_cast<int>(dimension);
    // XLA reduces indices of 32 and 64 bits.
    const xla::PrimitiveType wide =
        xla::primitive_util::BitWidth(index_type) < 32 ? xla::S32 : index_type;
    context->SetOutput(0, xla::ConvertElementType(xla::ArgMax(x, wide, axis), index_type));
    return absl::OkStatus();
  }
};

// Inputs: predictions [rows, classes], targets [rows], k. A target is among the k largest if fewer
// than k predictions are larger, and never if a prediction of its row is not finite.
class InTopK final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    const TensorShape shape = context->InputShape(0);
    OP_REQUIRES(context, shape.dims() == 2,
                absl::InvalidArgumentError("predictions must be 2-dimensional"));
    OP_REQUIRES(context, context->InputShape(1).dims() == 1,
                absl::InvalidArgumentError("targets must be 1-dimensional"));
    OP_REQUIRES(context, context->InputShape(1).dim_size(0) == shape.dim_size(0),
                absl::InvalidArgumentError(absl::StrCat(
                    "First dimension of predictions ", shape.dim_size(0),
                    " must match length of targets ", context->InputShape(1).dim_size(0))));
    OP_REQUIRES(context, context->InputShape(2).dims() == 0,
                absl::InvalidArgumentError("k must be 0-D"));
    xla::XlaBuilder* const builder = context->builder();
    const XlaOp predictions = context->Input(0);
    const xla::PrimitiveType type = context->input_xla_type(0);
    const xla::PrimitiveType index_type = context->input_xla_type(1);
    const int64_t rows = shape.dim_size(0), classes = shape.dim_size(1);
    const xla::Shape indices = xla::ShapeUtil::MakeShape(index_type, {rows, classes});
    const XlaOp is_target =
        xla::Eq(xla::Iota(builder, indices, 1), context->Input(1), /*broadcast_dimensions=*/{0});
    const auto sum = [builder](XlaOp x, xla::PrimitiveType type) {
      return xla::Reduce(x, xla::Zero(builder, type),
                         xla::CreateScalarAddComputation(type, builder), {1});
    };
    const XlaOp target =
        sum(xla::Select(is_target, predictions, xla::ZerosLike(predictions)), type);
    const XlaOp larger =
        sum(xla::ConvertElementType(xla::Gt(predictions, target, {0}), index_type), index_type);
    const XlaOp is_class = xla::Reduce(is_target, xla::ConstantR0<bool>(builder, false),
                                       xla::CreateScalarOrComputation(xla::PRED, builder), {1});
    const XlaOp is_finite =
        xla::Reduce(xla::IsFinite(predictions), xla::ConstantR0<bool>(builder, true),
                    xla::CreateScalarAndComputation(xla::PRED, builder), {1});
    const XlaOp is_in = xla::Lt(larger, xla::ConvertElementType(context->Input(2), index_type));
    context->SetOutput(0, xla::And(xla::And(is_class, is_finite), is_in));
  }
};

}  // namespace

void RegisterArgExtremes() {
  RegisterTranslation<ArgExtreme<true>>(
      std::move(TranslationOf("ArgMax").CompileTimeConstantInput("dimension")));
  RegisterTranslation<ArgExtreme<false>>(
      std::move(TranslationOf("ArgMin").CompileTimeConstantInput("dimension")));
  constexpr tensorflow::DataType kTargets[] = {tensorflow::DT_INT32, tensorflow::DT_INT64};
  RegisterTranslation<InTopK>(std::move(
      TranslationOf("InTopKV2").CompileTimeConstantInput("k").TypeConstraint("T", kTargets)));
}

}  // namespace onexpu::tf_plugin
