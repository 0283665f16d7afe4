// StatefulRandomBinomial and StatelessRandomBinomial: the numbers of TensorFlow's CPU kernels, and
// of the first op the same state after them. TensorFlow has no translations of these.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/compiler/tf2xla/shape_util.h"
#include "tensorflow/core/framework/rng_alg.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/util/bcast.h"
#include "tf_plugin/translations/random/random_numbers.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::BCast;
using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// An array for each element of `shape`, to which it broadcasts.
XlaOp BroadcastTo(XlaOp array, const TensorShape& from, const TensorShape& shape) {
  std::vector<int64_t> sizes, dimensions;
  for (int i = 0; i < from.dims(); ++i) {
    if (from.dim_size(i) == 1) continue;
    sizes.push_back(from.dim_size(i));
    dimensions.push_back(shape.dims() - from.dims() + i);
  }
  return xla::BroadcastInDim(xla::Reshape(array, sizes), shape.dim_sizes(), dimensions);
}

// What both ops share: inputs `shape`, of which the batch of counts and probabilities is the end,
// `counts` and `counts` + 1.
class BinomialTranslation : public Translation {
 public:
  explicit BinomialTranslation(OpKernelConstruction* construction) : Translation(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("dtype", &type_));
  }

 protected:
  struct Distributions {
    TensorShape batch, samples;
    XlaOp counts, probabilities;
  };

  static absl::StatusOr<Distributions> Read(XlaOpKernelContext* context, int shape, int counts) {
    Distributions read;
    TF_RETURN_IF_ERROR(context->ConstantInputAsShape(shape, &read.samples));
    const TensorShape of_counts = context->InputShape(counts),
                      of_probabilities = context->InputShape(counts + 1);
    const BCast broadcast(BCast::FromShape(of_counts), BCast::FromShape(of_probabilities),
                          /*fewer_dims_optimization=*/false);
    if (!broadcast.IsValid()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "counts and probs must have compatible batch dimensions: ", of_counts.DebugString(),
          " vs. ", of_probabilities.DebugString()));
    }
    read.batch = BCast::ToShape(broadcast.output_shape());
    if (!tensorflow::TensorShapeUtils::EndsWith(read.samples, read.batch)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Shape passed in must end with broadcasted shape: ", read.samples.DebugString(),
          " does not end with ", read.batch.DebugString()));
    }
    read.counts = BroadcastTo(context->Input(counts), of_counts, read.batch);
    read.probabilities = BroadcastTo(context->Input(counts + 1), of_probabilities, read.batch);
    return read;
  }

  absl::StatusOr<XlaOp> Draw(const Distributions& from, const RandomStream& stream) const {
    xla::Shape shape;
    TF_RETURN_IF_ERROR(tensorflow::TensorShapeToXLAShape(type_, from.samples, &shape));
    if (from.samples.num_elements() == 0) return xla::Zeros(stream.key.builder(), shape);
    return CallOnStream("onexpu.random_binomial", {from.counts, from.probabilities}, stream, shape);
  }

 private:
  DataType type_;
};

// Inputs: the variable, the algorithm, the shape, counts, probabilities.
class StatefulBinomial final : public BinomialTranslation {
 public:
  using BinomialTranslation::BinomialTranslation;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    int64_t algorithm = 0;
    TF_RETURN_IF_ERROR(context->ConstantInputAsIntScalar(1, &algorithm));
    if (algorithm != tensorflow::RNG_ALG_PHILOX) {
      return absl::InvalidArgumentError(absl::StrCat("Unsupported algorithm id: ", algorithm));
    }
    TF_ASSIGN_OR_RETURN(const Distributions distributions, Read(context, 2, 3));
    TF_ASSIGN_OR_RETURN(const GeneratorState state, ReadState(context, 0, algorithm));
    TF_ASSIGN_OR_RETURN(const XlaOp numbers, Draw(distributions, state.stream));
    context->SetOutput(0, numbers);
    const int64_t batch = distributions.batch.num_elements();
    const int64_t samples = batch == 0 ? 0 : distributions.samples.num_elements() / batch;
    return WriteState(context, 0, state,
                      CounterAfter(state.stream.counter, batch * 200 * (samples + 3) / 4));
  }
};

// Inputs: the shape, a seed, counts, probabilities.
class StatelessBinomial final : public BinomialTranslation {
 public:
  using BinomialTranslation::BinomialTranslation;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const Distributions distributions, Read(context, 0, 2));
    TF_ASSIGN_OR_RETURN(const RandomStream stream, StreamOfSeed(context, 1));
    TF_ASSIGN_OR_RETURN(const XlaOp numbers, Draw(distributions, stream));
    context->SetOutput(0, numbers);
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterRandomBinomial() {
  constexpr DataType kResults[] = {tensorflow::DT_HALF, tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE,
                                   tensorflow::DT_INT32, tensorflow::DT_INT64};
  constexpr DataType kParameters[] = {tensorflow::DT_HALF, tensorflow::DT_FLOAT,
                                      tensorflow::DT_DOUBLE};
  tensorflow::XlaOpRegistrationBuilder stateful = TranslationOf("StatefulRandomBinomial");
  stateful.CompileTimeConstantInput("algorithm").CompileTimeConstantInput("shape");
  stateful.TypeConstraint("dtype", kResults).TypeConstraint("T", kParameters);
  RegisterTranslation<StatefulBinomial>(std::move(stateful));
  tensorflow::XlaOpRegistrationBuilder stateless = TranslationOf("StatelessRandomBinomial");
  stateless.CompileTimeConstantInput("shape");
  stateless.TypeConstraint("dtype", kResults).TypeConstraint("T", kParameters);
  RegisterTranslation<StatelessBinomial>(std::move(stateless));
}

}  // namespace onexpu::tf_plugin
