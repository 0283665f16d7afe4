// Samples categorical distributions in compiled programs: Multinomial and StatelessMultinomial.
//
// TensorFlow's own translations draw a random number for every class of every sample. These look
// samples up in the prefix sums of a row's weights, as the kernels outside of programs do
// (kernels/random/multinomial_kernels.cc), and draw the same samples from a stateless op's seed. If
// the number of samples is known only at run time, they draw for its upper bound, row by row. The
// seeds of Multinomial, like those of all stateful ops, are ignored in compiled programs.
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/compiler/tf2xla/shape_util.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tf_plugin/core/random_arguments.h"
#include "tf_plugin/translations/random/random_numbers.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// A stream anywhere, which the device chooses: another in every run of the program.
RandomStream AnyStream(xla::XlaBuilder* builder) {
  const XlaOp words =
      xla::RngUniform(xla::Zero(builder, xla::U64),
                      xla::ConstantR0<uint64_t>(builder, std::numeric_limits<uint64_t>::max()),
                      xla::ShapeUtil::MakeShape(xla::U64, {3}));
  return {xla::SliceInDim(words, 0, 1, 1, 0), xla::SliceInDim(words, 1, 3, 1, 0)};
}

// Logits of known sizes, and what of them only the program will know, else nothing.
struct Logits {
  XlaOp values;  // of classes that there are not, less than what is ever drawn
  XlaOp rows, classes;
};

absl::StatusOr<Logits> LogitsOf(XlaOpKernelContext* context) {
  Logits logits = {context->Input(0)};
  XlaOp& values = logits.values;
  TF_ASSIGN_OR_RETURN(const xla::Shape shape, context->builder()->GetShape(values));
  if (shape.is_dynamic_dimension(0)) logits.rows = xla::GetDimensionSize(values, 0);
  if (shape.is_dynamic_dimension(1)) logits.classes = xla::GetDimensionSize(values, 1);
  if (logits.rows.valid()) values = xla::RemoveDynamicDimension(values, 0);
  if (!logits.classes.valid()) return logits;
  values = xla::RemoveDynamicDimension(values, 1);
  const auto sizes = shape.dimensions();
  const XlaOp number =
      xla::Iota(values.builder(), xla::ShapeUtil::MakeShape(xla::S32, sizes), /*dimension=*/1);
  const XlaOp none = xla::MinValue(values.builder(), shape.element_type());
  values = xla::Select(xla::Lt(number, xla::Broadcast(logits.classes, sizes)), values,
                       xla::Broadcast(none, sizes));
  return logits;
}

// Inputs: logits [rows, classes]; how many samples; the stateless op's seed.
class CategoricalTranslation final : public Translation {
 public:
  explicit CategoricalTranslation(OpKernelConstruction* construction) : Translation(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("output_dtype", &type_));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    int64_t samples = 0;
    TF_RETURN_IF_ERROR(
        context->ConstantInputAsIntScalar(1, &samples, xla::ValueInferenceMode::kUpperBound));
    bool is_bound = false;
    TF_RETURN_IF_ERROR(context->ResolveInputDynamismIntoPred(1, &is_bound));
    TF_ASSIGN_OR_RETURN(const TensorShape drawn, CategoricalShape(context->InputShape(0), samples));
    RandomStream stream;
    if (context->num_inputs() > kSeed) {
      TF_ASSIGN_OR_RETURN(stream, StreamOfSeed(context, kSeed));
    } else {
      stream = AnyStream(context->builder());
    }
    TF_ASSIGN_OR_RETURN(const Logits logits, LogitsOf(context));
    xla::Shape shape;
    TF_RETURN_IF_ERROR(tensorflow::TensorShapeToXLAShape(type_, drawn, &shape));
    XlaOp result = drawn.num_elements() == 0
                       ? xla::Zeros(context->builder(), shape)
                       : CallOnStream("onexpu.categorical", {logits.values}, stream, shape);
    if (logits.classes.valid()) {
      // What is drawn of a row without a finite logit. No classes at all cannot be refused here.
      const XlaOp classes = xla::ConvertElementType(logits.classes, shape.element_type());
      result = xla::Min(result, xla::Broadcast(classes, shape.dimensions()));
    }
    if (logits.rows.valid()) result = xla::SetDimensionSize(result, logits.rows, 0);
    if (is_bound) result = xla::SetDimensionSize(result, context->Input(1), 1);
    context->SetOutput(0, result);
    return absl::OkStatus();
  }

  static constexpr int kSeed = 2;

  DataType type_;
};

}  // namespace

void RegisterCategorical() {
  constexpr DataType kFloating[] = {tensorflow::DT_HALF, tensorflow::DT_BFLOAT16,
                                    tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE};
  for (const char* op : {"Multinomial", "StatelessMultinomial"}) {
    tensorflow::XlaOpRegistrationBuilder translation = TranslationOf(op);
    translation.CompileTimeConstantInput("num_samples");
    translation.TypeConstraint("T", kFloating);
    RegisterTranslation<CategoricalTranslation>(std::move(translation));
  }
}

}  // namespace onexpu::tf_plugin
