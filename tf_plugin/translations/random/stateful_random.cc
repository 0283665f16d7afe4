// Random numbers of a generator whose state is a variable: those of TensorFlow's CPU kernels, in
// all of their types. The op that draws them moves the state on, on the device.
//
// The tf.random.Generator of TensorFlow's earlier releases drew with these ops, and functions that
// were saved with it still do. TensorFlow's own translations make other numbers of the same state,
// and no uniform or truncated normal ones in float16.
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tensorflow/compiler/tf2xla/shape_util.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tf_plugin/translations/random/random_numbers.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;

constexpr DataType kFloating[] = {tensorflow::DT_DOUBLE, tensorflow::DT_FLOAT, tensorflow::DT_HALF,
                                  tensorflow::DT_BFLOAT16};
constexpr DataType kIntegers[] = {tensorflow::DT_INT32, tensorflow::DT_INT64, tensorflow::DT_UINT32,
                                  tensorflow::DT_UINT64};

// An op, the distribution of the custom call "onexpu.random", and the types.
struct StatefulOp {
  const char* op;
  const char* distribution;
  absl::Span<const DataType> types;
};
constexpr StatefulOp kOps[] = {
    {"StatefulUniform", "uniform", kFloating},
    {"StatefulStandardNormalV2", "normal", kFloating},
    {"StatefulTruncatedNormal", "truncated_normal", kFloating},
    {"StatefulUniformInt", "integers", kIntegers},
    {"StatefulUniformFullInt", "bits", kIntegers},
};

// Inputs: the variable, whose first elements are the counter and the key; the algorithm; the shape;
// of integers, also the bounds.
class NumbersOfStateTranslation final : public Translation {
 public:
  explicit NumbersOfStateTranslation(OpKernelConstruction* construction)
      : Translation(construction) {
    for (const StatefulOp& entry : kOps) {
      if (type_string() == entry.op) distribution_ = entry.distribution;
    }
    OP_REQUIRES_OK(construction, construction->GetAttr("dtype", &type_));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    int64_t algorithm = 0;
    TF_RETURN_IF_ERROR(context->ConstantInputAsIntScalar(1, &algorithm));
    TF_ASSIGN_OR_RETURN(const GeneratorState state, ReadState(context, 0, algorithm));
    TensorShape numbers_shape;
    TF_RETURN_IF_ERROR(context->ConstantInputAsShape(2, &numbers_shape));
    xla::Shape shape;
    TF_RETURN_IF_ERROR(tensorflow::TensorShapeToXLAShape(type_, numbers_shape, &shape));
    std::optional<RandomBounds> bounds;
    if (context->num_inputs() > kFirstBound) {
      TF_ASSIGN_OR_RETURN(bounds, BoundsOf(context, kFirstBound));
    }
    const xla::RngOutput numbers =
        RandomNumbers(distribution_, algorithm, state.stream, bounds, shape);
    context->SetOutput(0, numbers.value);
    return WriteState(context, 0, state, numbers.state);
  }

  static constexpr int kFirstBound = 3;

  const char* distribution_ = nullptr;
  DataType type_;
};

}  // namespace

void RegisterStatefulRandom() {
  for (const StatefulOp& entry : kOps) {
    tensorflow::XlaOpRegistrationBuilder translation = TranslationOf(entry.op);
    translation.CompileTimeConstantInput("algorithm");
    translation.CompileTimeConstantInput("shape");
    translation.TypeConstraint("dtype", entry.types);
    RegisterTranslation<NumbersOfStateTranslation>(std::move(translation));
  }
}

}  // namespace onexpu::tf_plugin
