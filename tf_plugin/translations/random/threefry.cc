#include "tf_plugin/translations/random/threefry.h"

#include "tensorflow/compiler/tf2xla/lib/random.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/xla_data.pb.h"

namespace onexpu::tf_plugin {
namespace {

using ::xla::RngOutput;
using ::xla::XlaOp;

// A block of numbers: key and the first element of the counter are its state.
RngOutput ThreeFryBits(XlaOp key, XlaOp counter, const xla::Shape& shape) {
  const XlaOp both = xla::RngBitGenerator(
      xla::RandomAlgorithm::RNG_THREE_FRY,
      xla::ConcatInDim(key.builder(), {key, xla::SliceInDim(counter, 0, 1, 1, 0)}, 0), shape);
  return {xla::GetTupleElement(both, 1),
          xla::SliceInDim(xla::GetTupleElement(both, 0), 1, 2, 1, 0)};
}

// bfloat16 without rounding: a uniform number below 1 stays below.
XlaOp Truncated(XlaOp numbers) {
  const XlaOp bits = xla::BitcastConvertType(numbers, xla::U32);
  const XlaOp kept = bits & xla::ScalarLike(bits, 0xFFFF0000u);
  return xla::ConvertElementType(xla::BitcastConvertType(kept, xla::F32), xla::BF16);
}

}  // namespace

RngOutput ThreeFryNumbers(absl::string_view distribution, XlaOp key, XlaOp counter, XlaOp low,
                          XlaOp high, const xla::Shape& shape) {
  const xla::PrimitiveType type = shape.element_type();
  if (distribution == "bits") {
    RngOutput bits = ThreeFryBits(key, counter, shape);
    bits.value = xla::BitcastConvertType(bits.value, type);
    return bits;
  }
  if (distribution == "integers") {
    return xla::UniformIntDistribution(key, counter, ThreeFryBits, low, high, shape);
  }
  // There are no distributions of bfloat16.
  xla::Shape wide = shape;
  if (type == xla::BF16) wide.set_element_type(xla::F32);
  const auto uniform_from = [&](XlaOp least) {
    return xla::UniformFloatingPointDistribution(
        key, counter, ThreeFryBits, least, xla::One(key.builder(), wide.element_type()), wide);
  };
  RngOutput numbers;
  if (distribution == "normal") {
    numbers = xla::NormalFloatingPointDistribution(key, counter, ThreeFryBits, wide);
  } else if (distribution == "truncated_normal") {
    numbers = uniform_from(xla::MinPositiveNormalValue(key.builder(), wide.element_type()));
    numbers.value = tensorflow::TruncatedNormal(numbers.value);
  } else {
    numbers = uniform_from(xla::Zero(key.builder(), wide.element_type()));
  }
  if (type == xla::BF16) numbers.value = Truncated(numbers.value);
  return numbers;
}

}  // namespace onexpu::tf_plugin
