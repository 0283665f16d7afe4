// DebugNumericSummaryV2: what tf.debugging writes down of a tensor, by its mode: how many elements
// are not finite, their signs, the shape. The layout of each is documented at the op.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/compiler/tf2xla/type_util.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/math.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/primitive_util.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// TensorDebugMode of debug_event.proto.
enum Mode {
  kCurtHealth = 2,
  kConciseHealth = 3,
  kFullHealth = 4,
  kShape = 5,
  kReduceInfNanThreeSlots = 8,
};

// Dimensions in a summary of the shape: the last ones, for the first are the batch.
constexpr int kShapeDimensions = 6;

class NumericSummary final : public Translation {
 public:
  explicit NumericSummary(OpKernelConstruction* construction) : Translation(construction) {
    OP_REQUIRES_OK(construction,
                   tensorflow::DataTypeToPrimitiveType(construction->output_type(0), &type_));
    OP_REQUIRES_OK(construction, construction->GetAttr("tensor_debug_mode", &mode_));
    OP_REQUIRES_OK(construction, construction->GetAttr("tensor_id", &tensor_id_));
  }

 private:
  // Elements for which something holds. Integers count, for sums of floats end at 2^24.
  XlaOp Count(XlaOp holds) const {
    xla::XlaBuilder* const builder = holds.builder();
    const XlaOp count = xla::ReduceAll(xla::ConvertElementType(holds, xla::S64),
                                       xla::ConstantR0<int64_t>(builder, 0),
                                       xla::CreateScalarAddComputation(xla::S64, builder));
    return xla::ConvertElementType(count, type_);
  }

  XlaOp Number(xla::XlaBuilder* builder, double value) const {
    return xla::ConstantR0WithType(builder, type_, value);
  }

  absl::StatusOr<std::vector<XlaOp>> Slots(XlaOpKernelContext* context) const {
    const TensorShape shape = context->InputShape(0);
    const double data_type = static_cast<double>(context->input_type(0));
    const XlaOp x = context->Input(0);
    xla::XlaBuilder* const builder = context->builder();
    const auto number = [&](double value) { return Number(builder, value); };
    const bool is_floating = xla::primitive_util::IsFloatingPointType(context->input_xla_type(0));
    const XlaOp none = xla::Broadcast(xla::ConstantR0<bool>(builder, false), shape.dim_sizes());
    const XlaOp zero = xla::ZerosLike(x);
    const XlaOp is_nan = is_floating ? xla::IsNan(x) : none;
    const XlaOp is_infinite = is_floating ? xla::IsInf(x) : none;
    const XlaOp negative_infinity = xla::And(is_infinite, xla::Lt(x, zero));
    const XlaOp positive_infinity = xla::And(is_infinite, xla::Gt(x, zero));
    const XlaOp finite = xla::Not(xla::Or(is_nan, is_infinite));

    switch (mode_) {
      case kCurtHealth:
        return std::vector<XlaOp>{number(tensor_id_),
                                  xla::ConvertElementType(xla::Any(xla::Not(finite)), type_)};
      case kConciseHealth:
        return std::vector<XlaOp>{number(tensor_id_), number(shape.num_elements()),
                                  Count(negative_infinity), Count(positive_infinity),
                                  Count(is_nan)};
      case kFullHealth:
        return std::vector<XlaOp>{number(tensor_id_),
                                  number(-1),  // the device, which no build of TensorFlow writes
                                  number(data_type),
                                  number(shape.dims()),
                                  number(shape.num_elements()),
                                  Count(negative_infinity),
                                  Count(positive_infinity),
                                  Count(is_nan),
                                  Count(xla::And(finite, xla::Lt(x, zero))),
                                  Count(xla::Eq(x, zero)),
                                  Count(xla::And(finite, xla::Gt(x, zero)))};
      case kShape: {
        std::vector<XlaOp> slots = {number(tensor_id_), number(data_type), number(shape.dims()),
                                    number(shape.num_elements())};
        const int first = std::max(0, shape.dims() - kShapeDimensions);
        for (int i = first; i < first + kShapeDimensions; ++i) {
          slots.push_back(number(i < shape.dims() ? shape.dim_size(i) : 0));
        }
        return slots;
      }
      case kReduceInfNanThreeSlots: {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        const auto slot = [&](XlaOp found, double value) {
          return xla::Select(xla::Any(found), number(value), number(0));
        };
        return std::vector<XlaOp>{slot(negative_infinity, -kInfinity),
                                  slot(positive_infinity, kInfinity),
                                  slot(is_nan, std::numeric_limits<double>::quiet_NaN())};
      }
      default:
        return absl::UnimplementedError(absl::StrCat("Unimplemented tensor debug mode: ", mode_));
    }
  }

  absl::Status Translate(XlaOpKernelContext* context) const override {
    const int digits = xla::primitive_util::SignificandWidth(type_);
    if (mode_ != kReduceInfNanThreeSlots && tensor_id_ > int64_t{1} << digits) {
      return absl::InvalidArgumentError(
          absl::StrCat("DebugNumericSummaryV2Op requires tensor_id to be less than or equal to (2^",
                       digits, "). Given tensor_id:", tensor_id_));
    }
    TF_ASSIGN_OR_RETURN(std::vector<XlaOp> slots, Slots(context));
    for (XlaOp& slot : slots) slot = xla::Reshape(slot, {1});
    context->SetOutput(0, xla::ConcatInDim(context->builder(), slots, 0));
    return absl::OkStatus();
  }

  int mode_ = 0;
  int64_t tensor_id_ = 0;
  xla::PrimitiveType type_ = xla::PRIMITIVE_TYPE_INVALID;  // of the output
};

}  // namespace

void RegisterNumericSummary() {
  RegisterTranslation<NumericSummary>(TranslationOf("DebugNumericSummaryV2"));
}

}  // namespace onexpu::tf_plugin
