#include "tf_plugin/translations/random/random_numbers.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/compiler/tf2xla/literal_util.h"
#include "tensorflow/core/framework/rng_alg.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tf_plugin/core/random_arguments.h"
#include "tf_plugin/translations/random/philox.h"
#include "tf_plugin/translations/random/threefry.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/xla_data.pb.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::Tensor;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

constexpr uint64_t kBlocksPerElement = 256;

// The stream of a seed, integer[2]: one block of Philox whose counter is the seed mixes it.
RandomStream StreamOf(XlaOp seed) {
  constexpr uint64_t kMixingKey = 0x02461e293ec8f720;
  xla::XlaBuilder* const builder = seed.builder();
  // Narrow seeds keep their sign, as in TensorFlow.
  const XlaOp counter = xla::BitcastConvertType(xla::ConvertElementType(seed, xla::S64), xla::U64);
  const XlaOp mixed = xla::Reshape(
      PhiloxWords(xla::ConstantR1<uint64_t>(builder, {kMixingKey}), counter, /*blocks=*/1), {4});
  const XlaOp high = Joined(Element(mixed, 2), Element(mixed, 3));
  return {xla::Reshape(Joined(Element(mixed, 0), Element(mixed, 1)), {1}),
          xla::ConcatInDim(builder,
                           {xla::ConstantR1<uint64_t>(builder, {0}), xla::Reshape(high, {1})}, 0)};
}

XlaOp Numbers(const RandomStream& stream, absl::string_view distribution, const xla::Shape& shape) {
  if (ArePhiloxNumbersFew(distribution, shape)) {
    return PhiloxNumbers(distribution, stream.key, stream.counter, shape);
  }
  return CallOnStream(
      "onexpu.random", /*operands=*/{}, stream, shape,
      absl::StrCat("distribution = \"", distribution, "\", low = 0 : i64, high = 0 : i64, "));
}

// Numbers in [low, high): a remainder, as everywhere in TensorFlow.
XlaOp PhiloxIntegers(const RandomStream& stream, const RandomBounds& bounds,
                     const xla::Shape& shape) {
  const xla::PrimitiveType type = shape.element_type();
  const xla::PrimitiveType unsigned_type =
      xla::primitive_util::UnsignedIntegralTypeForBitWidth(xla::primitive_util::BitWidth(type));
  const XlaOp bits =
      Numbers(stream, "bits", xla::ShapeUtil::ChangeElementType(shape, unsigned_type));
  const XlaOp low = xla::BitcastConvertType(bounds.low, unsigned_type);
  const XlaOp high = xla::BitcastConvertType(bounds.high, unsigned_type);
  return xla::BitcastConvertType(xla::Add(xla::Rem(bits, high - low), low), type);
}

// The input, if it is known when the program is compiled.
std::optional<Tensor> KnownInput(XlaOpKernelContext* context, int input) {
  xla::Literal literal;
  Tensor tensor;
  if (!context->ConstantInput(input, &literal).ok()) return std::nullopt;
  if (!tensorflow::LiteralToHostTensor(literal, context->input_type(input), &tensor).ok()) {
    return std::nullopt;
  }
  return tensor;
}

}  // namespace

absl::StatusOr<int64_t> CounterWords(int64_t algorithm) {
  switch (algorithm) {
    case tensorflow::RNG_ALG_THREEFRY:
      return 1;
    case tensorflow::RNG_ALG_PHILOX:
    case tensorflow::RNG_ALG_AUTO_SELECT:
      return 2;
    default:
      return absl::InvalidArgumentError(absl::StrCat("Unsupported algorithm id: ", algorithm));
  }
}

absl::StatusOr<RandomStream> StreamOfSeed(XlaOpKernelContext* context, int input) {
  const tensorflow::TensorShape shape = context->InputShape(input);
  if (shape == tensorflow::TensorShape({2})) return StreamOf(context->Input(input));
  return absl::InvalidArgumentError(
      absl::StrCat("seed must have shape [2], not ", shape.DebugString()));
}

absl::StatusOr<GeneratorState> ReadState(XlaOpKernelContext* context, int input,
                                         int64_t algorithm) {
  TF_ASSIGN_OR_RETURN(const int64_t words, CounterWords(algorithm));
  tensorflow::TensorShape shape;
  XlaOp variable;
  TF_RETURN_IF_ERROR(context->ReadVariableInput(input, tensorflow::DT_INT64, &shape, &variable));
  if (shape.dims() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("RNG state must have one and only one dimension, not ", shape.dims()));
  }
  if (shape.dim_size(0) <= words) {
    return absl::InvalidArgumentError(absl::StrCat("The size of the state must be at least ",
                                                   words + 1, "; got ", shape.dim_size(0)));
  }
  const XlaOp bits = xla::BitcastConvertType(variable, xla::U64);
  return GeneratorState{
      variable,
      {xla::SliceInDim(bits, words, words + 1, 1, 0), xla::SliceInDim(bits, 0, words, 1, 0)}};
}

absl::Status WriteState(XlaOpKernelContext* context, int input, const GeneratorState& state,
                        XlaOp counter) {
  return context->AssignVariable(
      input, tensorflow::DT_INT64,
      xla::DynamicUpdateSlice(state.variable, xla::BitcastConvertType(counter, xla::S64),
                              {xla::Zero(context->builder(), xla::S32)}));
}

XlaOp CounterAfter(XlaOp counter, int64_t elements) {
  const XlaOp low = xla::SliceInDim(counter, 0, 1, 1, 0);
  const XlaOp high = xla::SliceInDim(counter, 1, 2, 1, 0);
  const XlaOp sum = low + xla::ScalarLike(low, static_cast<uint64_t>(elements) * kBlocksPerElement);
  const XlaOp carry = xla::ConvertElementType(xla::Lt(sum, low), xla::U64);
  return xla::ConcatInDim(counter.builder(), {sum, high + carry}, 0);
}

absl::StatusOr<RandomBounds> BoundsOf(XlaOpKernelContext* context, int low) {
  TF_RETURN_IF_ERROR(CheckBoundShapes(context->InputShape(low), context->InputShape(low + 1)));
  const std::optional<Tensor> least = KnownInput(context, low), end = KnownInput(context, low + 1);
  if (least.has_value() && end.has_value()) {
    TF_RETURN_IF_ERROR(IntegerRangeOf(*least, *end).status());
  }
  return RandomBounds{context->Input(low), context->Input(low + 1)};
}

XlaOp CallOnStream(const std::string& kernel, std::vector<XlaOp> operands,
                   const RandomStream& stream, const xla::Shape& shape,
                   absl::string_view attributes) {
  operands.push_back(stream.key);
  operands.push_back(stream.counter);
  return xla::CustomCall(
      stream.key.builder(), kernel, operands, shape,
      absl::StrCat("{", attributes,
                   "key = 0 : i64, counter_low = 0 : i64, counter_high = 0 : i64}"),
      /*has_side_effect=*/false, /*output_operand_aliasing=*/{}, /*literal=*/nullptr,
      xla::CustomCallSchedule::SCHEDULE_NONE, xla::CustomCallApiVersion::API_VERSION_TYPED_FFI);
}

xla::RngOutput RandomNumbers(absl::string_view distribution, int64_t algorithm,
                             const RandomStream& stream, const std::optional<RandomBounds>& bounds,
                             const xla::Shape& shape) {
  const bool is_threefry = algorithm == tensorflow::RNG_ALG_THREEFRY;
  const XlaOp counter = xla::SliceInDim(stream.counter, 0, is_threefry ? 1 : 2, 1, 0);
  const int64_t elements = xla::ShapeUtil::ElementsIn(shape);
  if (elements == 0) return {xla::Zeros(stream.key.builder(), shape), counter};
  if (is_threefry) {
    return ThreeFryNumbers(distribution, stream.key, counter, bounds ? bounds->low : XlaOp(),
                           bounds ? bounds->high : XlaOp(), shape);
  }
  return {bounds ? PhiloxIntegers(stream, *bounds, shape) : Numbers(stream, distribution, shape),
          CounterAfter(counter, elements)};
}

}  // namespace onexpu::tf_plugin
