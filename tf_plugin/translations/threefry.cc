#include "tf_plugin/translations/threefry.h"

#include "tensorflow/compiler/tf2xla/lib/random.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/prng.h"
#include "xla/xla_data.pb.h"

namespace onexpu::tf_plugin {
namespace {

using ::xla::XlaOp;

// A block of numbers: key and the first element of the counter are its state.
xla::RngOutput ThreeFryBits(XlaOp key, XlaOp counter, const xla::Shape& shape) {
  const XlaOp both = xla::RngBitGenerator(
      xla::RandomAlgorithm::RNG_THREE_FRY,
      xla::ConcatInDim(key.builder(), {key, xla::SliceInDim(counter, 0, 1, 1, 0)}, 0), shape);
  return {xla::GetTupleElement(both, 1), xla::GetTupleElement(both, 0)};
}

// bfloat16 without rounding: a uniform number below 1 stays below.
XlaOp Truncated(XlaOp numbers) {
  const XlaOp bits = xla::BitcastConvertType(numbers, xla::U32);
  const XlaOp kept = bits & xla::ScalarLike(bits, 0xFFFF0000u);
  return xla::ConvertElementType(xla::BitcastConvertType(kept, xla::F32), xla::BF16);
}

}  // namespace

XlaOp ThreeFryNumbers(absl::string_view distribution, XlaOp key, XlaOp counter, XlaOp low,
                      XlaOp high, const xla::Shape& shape) {
  const xla::PrimitiveType type = shape.element_type();
  if (distribution == "bits") {
    return xla::BitcastConvertType(ThreeFryBits(key, counter, shape).value, type);
  }
  if (distribution == "integers") {
    return xla::UniformIntDistribution(key, counter, ThreeFryBits, low, high, shape).value;
  }
  // There are no distributions of bfloat16.
  xla::Shape wide = shape;
  if (type == xla::BF16) wide.set_element_type(xla::F32);
  const auto uniform_from = [&](XlaOp least) {
    return xla::UniformFloatingPointDistribution(key, counter, ThreeFryBits, least,
                                                 xla::One(key.builder(), wide.element_type()), wide)
        .value;
  };
  XlaOp numbers;
  if (distribution == "normal") {
    numbers = xla::NormalFloatingPointDistribution(key, counter, ThreeFryBits, wide).value;
  } else if (distribution == "truncated_normal") {
    numbers = tensorflow::TruncatedNormal(
        uniform_from(xla::MinPositiveNormalValue(key.builder(), wide.element_type())));
  } else {
    numbers = uniform_from(xla::Zero(key.builder(), wide.element_type()));
  }
  return type == xla::BF16 ? Truncated(numbers) : numbers;
}

}  // namespace onexpu::tf_plugin
