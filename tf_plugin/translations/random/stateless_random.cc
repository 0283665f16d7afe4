// Stateless random numbers inside of programs: the ones that the same ops give outside of them,
// which are those of TensorFlow's CPU kernels (kernels/random/stateless_random_kernels.cc).
//
// TensorFlow's own translations make other numbers of the same seeds, so that a compiled function
// would not repeat what it did before it was compiled. These replace them.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/compiler/tf2xla/shape_util.h"
#include "tensorflow/core/framework/rng_alg.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tf_plugin/translations/random/random_numbers.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/dynamic_shaped_ops.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape.h"
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

// Keys, counters and the number of the algorithm that all of them are for.
class SeedTranslation final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    if (context->num_inputs() == 1) {
      const absl::StatusOr<RandomStream> stream = StreamOfSeed(context, 0);
      OP_REQUIRES_OK(context, stream.status());
      context->SetOutput(0, stream->key);
      context->SetOutput(1, stream->counter);
    }
    if (context->num_outputs() == 2) return;
    context->SetOutput(context->num_outputs() - 1,
                       xla::ConstantR0<int32_t>(context->builder(), tensorflow::RNG_ALG_PHILOX));
  }
};

// An op, and the distribution of the custom call "onexpu.random".
struct Distribution {
  const char* op;
  const char* name;
};
constexpr Distribution kDistributions[] = {
    {"StatelessRandomUniform", "uniform"},
    {"StatelessRandomNormal", "normal"},
    {"StatelessTruncatedNormal", "truncated_normal"},
    {"StatelessRandomUniformInt", "integers"},
    {"StatelessRandomUniformFullInt", "bits"},
    {"StatelessRandomUniformV2", "uniform"},
    {"StatelessRandomNormalV2", "normal"},
    {"StatelessTruncatedNormalV2", "truncated_normal"},
    {"StatelessRandomUniformIntV2", "integers"},
    {"StatelessRandomUniformFullIntV2", "bits"},
};

// Inputs: the shape; key, counter and algorithm, or of the first version's ops the seed; of
// integers, also the bounds.
class NumbersTranslation final : public Translation {
 public:
  explicit NumbersTranslation(OpKernelConstruction* construction)
      : Translation(construction),
        distribution_(
            std::find_if(std::begin(kDistributions), std::end(kDistributions),
                         [&](const Distribution& entry) { return type_string() == entry.op; })
                ->name),
        is_seeded_(!absl::EndsWith(type_string(), "V2")),
        is_bounded_(absl::string_view(distribution_) == "integers") {
    OP_REQUIRES_OK(construction, construction->GetAttr("dtype", &type_));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    // Where only a bound of the shape is known, the numbers are those of the bound.
    TensorShape bound, exact;
    TF_RETURN_IF_ERROR(
        context->ConstantInputAsShape(0, &bound, xla::ValueInferenceMode::kUpperBound));
    int64_t algorithm = tensorflow::RNG_ALG_PHILOX;
    if (!is_seeded_) TF_RETURN_IF_ERROR(context->ConstantInputAsIntScalar(3, &algorithm));
    TF_ASSIGN_OR_RETURN(const RandomStream stream, StreamFor(context, algorithm));
    xla::Shape shape;
    TF_RETURN_IF_ERROR(tensorflow::TensorShapeToXLAShape(type_, bound, &shape));
    std::optional<RandomBounds> bounds;
    // TensorFlow takes any bounds where there is nothing to draw.
    if (is_bounded_ && bound.num_elements() > 0) {
      TF_ASSIGN_OR_RETURN(bounds, BoundsOf(context, is_seeded_ ? 2 : 4));
    }
    XlaOp numbers = RandomNumbers(distribution_, algorithm, stream, bounds, shape).value;
    if (!context->ConstantInputAsShape(0, &exact).ok()) {
      TF_ASSIGN_OR_RETURN(numbers, xla::SetAllDimensionSizes(&context->value_inference(), numbers,
                                                             context->Input(0)));
    }
    context->SetOutput(0, numbers);
    return absl::OkStatus();
  }

  absl::StatusOr<RandomStream> StreamFor(XlaOpKernelContext* context, int64_t algorithm) const {
    if (is_seeded_) return StreamOfSeed(context, 1);
    TF_ASSIGN_OR_RETURN(const int64_t words, CounterWords(algorithm));
    const TensorShape key = context->InputShape(1), counter = context->InputShape(2);
    if (key != TensorShape({1}) || counter.dims() != 1 || counter.dim_size(0) < words) {
      return absl::InvalidArgumentError(
          absl::StrCat("key must have shape [1] and counter at least [", words, "], not ",
                       key.DebugString(), " and ", counter.DebugString()));
    }
    return RandomStream{xla::BitcastConvertType(context->Input(1), xla::U64),
                        xla::BitcastConvertType(context->Input(2), xla::U64)};
  }

  const char* const distribution_;
  const bool is_seeded_;
  const bool is_bounded_;
  DataType type_;
};

}  // namespace

void RegisterStatelessRandom() {
  constexpr DataType kFloating[] = {tensorflow::DT_DOUBLE, tensorflow::DT_FLOAT,
                                    tensorflow::DT_HALF, tensorflow::DT_BFLOAT16};
  constexpr DataType kIntegers[] = {tensorflow::DT_INT32, tensorflow::DT_INT64,
                                    tensorflow::DT_UINT32, tensorflow::DT_UINT64};
  // As TensorFlow's kernels, which refuse others that the ops allow.
  constexpr DataType kSeeds[] = {tensorflow::DT_INT32, tensorflow::DT_INT64};
  for (const Distribution& entry : kDistributions) {
    tensorflow::XlaOpRegistrationBuilder translation = TranslationOf(entry.op);
    translation.CompileTimeConstantInput("shape");
    if (absl::EndsWith(entry.op, "V2")) {
      translation.CompileTimeConstantInput("alg");
    } else {
      translation.TypeConstraint("Tseed", kSeeds);
    }
    const bool is_integer = absl::StrContains(entry.op, "Int");
    translation.TypeConstraint(
        "dtype", is_integer ? absl::MakeConstSpan(kIntegers) : absl::MakeConstSpan(kFloating));
    RegisterTranslation<NumbersTranslation>(std::move(translation));
  }
  for (const char* op : {"StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg",
                         "StatelessRandomGetAlg"}) {
    RegisterTranslation<SeedTranslation>(TranslationOf(op));
  }
}

}  // namespace onexpu::tf_plugin
