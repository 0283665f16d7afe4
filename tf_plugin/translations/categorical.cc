// Samples of categorical distributions inside of programs: Multinomial and StatelessMultinomial.
//
// TensorFlow's own translations draw a number for every class of every sample; these look samples
// up in the sums of a row's weights, as the kernels do that run outside of programs
// (kernels/multinomial_kernels.cc), and draw the same of the same seed.
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/compiler/tf2xla/shape_util.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tf_plugin/translations/random_numbers.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
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

// Inputs: logits [rows, classes]; how many samples; the stateless op's seed.
class CategoricalTranslation final : public XlaOpKernel {
 public:
  explicit CategoricalTranslation(OpKernelConstruction* construction) : XlaOpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("output_dtype", &type_));
  }

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, Translate(context));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const {
    const TensorShape logits = context->InputShape(0);
    if (logits.dims() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("logits should be a matrix, got shape ", logits.DebugString()));
    }
    int64_t samples = 0;
    TF_RETURN_IF_ERROR(context->ConstantInputAsIntScalar(1, &samples));
    if (samples < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_samples should be non-negative, got ", samples));
    }
    if (logits.dim_size(1) == 0) {
      return absl::InvalidArgumentError("num_classes should be positive, got 0");
    }
    RandomStream stream;
    if (context->num_inputs() > kSeed) {
      TF_ASSIGN_OR_RETURN(stream, StreamOfSeed(context, kSeed));
    } else {
      stream = AnyStream(context->builder());
    }
    const TensorShape drawn({logits.dim_size(0), samples});
    xla::Shape shape;
    TF_RETURN_IF_ERROR(tensorflow::TensorShapeToXLAShape(type_, drawn, &shape));
    context->SetOutput(
        0, drawn.num_elements() == 0
               ? xla::Zeros(context->builder(), shape)
               : CallOnStream("onexpu.categorical", {context->Input(0)}, stream, shape));
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
