#include "tf_plugin/translations/random/philox.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/loops.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/xla_data.pb.h"

namespace onexpu::tf_plugin {
namespace {

using ::xla::PrimitiveType;
using ::xla::XlaOp;

constexpr int64_t kMaxNumbers = 256;
constexpr int64_t kWordsPerBlock = 4;

XlaOp And(XlaOp bits, uint64_t mask) { return bits & xla::ScalarLike(bits, mask); }
XlaOp Or(XlaOp bits, uint64_t mask) { return bits | xla::ScalarLike(bits, mask); }

// Halves of u64, and a product of u32 as u64.
XlaOp Low(XlaOp wide) { return xla::ConvertElementType(wide, xla::U32); }
XlaOp High(XlaOp wide) { return Low(xla::ShiftRightLogical(wide, xla::ScalarLike(wide, 32))); }
XlaOp Product(XlaOp word, uint32_t factor) {
  const XlaOp wide = xla::ConvertElementType(word, xla::U64);
  return wide * xla::ScalarLike(wide, factor);
}

// A column of words, u32[blocks, 1].
XlaOp Word(XlaOp blocks, int64_t index) { return xla::SliceInDim(blocks, index, index + 1, 1, 1); }

// Numbers in [0, 1) of the last bits of a word, or of two: numbers in [1, 2) without their one.
XlaOp Unit(XlaOp bits, PrimitiveType type) {
  const int mantissa = xla::primitive_util::SignificandWidth(type) - 1;
  const uint64_t exponent = static_cast<uint64_t>(xla::primitive_util::ExponentBias(type))
                            << mantissa;
  const PrimitiveType unsigned_type =
      xla::primitive_util::UnsignedIntegralTypeForBitWidth(xla::primitive_util::BitWidth(type));
  const XlaOp one_to_two = xla::ConvertElementType(
      Or(And(bits, (uint64_t{1} << mantissa) - 1), exponent), unsigned_type);
  const XlaOp numbers = xla::BitcastConvertType(one_to_two, type);
  return numbers - xla::ScalarLike(numbers, 1);
}

// 2 pi `turn`, rounded once, as TensorFlow computes it in double precision: `bits` are those that
// Unit makes `turn` of. In fixed point, since not every device has doubles.
XlaOp FloatAngle(XlaOp bits) {
  constexpr uint64_t kTwoPi = 863554413089;  // 2 pi 2^37
  const XlaOp steps = xla::ConvertElementType(And(bits, 0x7fffff), xla::U64);
  const XlaOp angle = xla::ConvertElementType(steps * xla::ScalarLike(steps, kTwoPi), xla::F32);
  return angle * xla::ScalarLike(angle, std::ldexp(1.0, -37 - 23));
}

// Two columns of normal numbers (Box and Muller 1958) of uniform ones and of angles.
std::array<XlaOp, 2> NormalPair(XlaOp uniform, XlaOp angle) {
  const XlaOp u = xla::Max(uniform, xla::ScalarLike(uniform, 1.0e-7));
  const XlaOp radius = xla::Sqrt(xla::ScalarLike(u, -2) * xla::Log(u));
  return {xla::Sin(angle) * radius, xla::Cos(angle) * radius};
}

// [blocks, 4], or [blocks, 2] of 64 bits.
XlaOp Normal(XlaOp blocks, PrimitiveType type) {
  xla::XlaBuilder* const builder = blocks.builder();
  if (type == xla::F64) {
    const XlaOp uniform = Unit(Joined(Word(blocks, 1), Word(blocks, 0)), type);
    const XlaOp turn = Unit(Joined(Word(blocks, 3), Word(blocks, 2)), type);
    const auto pair = NormalPair(uniform, turn * xla::ScalarLike(turn, 6.283185307179586));
    return xla::ConcatInDim(builder, {pair[0], pair[1]}, 1);
  }
  const auto first = NormalPair(Unit(Word(blocks, 0), xla::F32), FloatAngle(Word(blocks, 1)));
  const auto second = NormalPair(Unit(Word(blocks, 2), xla::F32), FloatAngle(Word(blocks, 3)));
  return xla::ConvertElementType(
      xla::ConcatInDim(builder, {first[0], first[1], second[0], second[1]}, 1), type);
}

XlaOp Uniform(XlaOp blocks, PrimitiveType type) {
  if (type != xla::F64) return Unit(blocks, type);
  const XlaOp low = xla::ConcatInDim(blocks.builder(), {Word(blocks, 1), Word(blocks, 3)}, 1);
  const XlaOp high = xla::ConcatInDim(blocks.builder(), {Word(blocks, 0), Word(blocks, 2)}, 1);
  return Unit(Joined(low, high), type);
}

XlaOp Bits(XlaOp blocks, PrimitiveType type) {
  if (xla::primitive_util::BitWidth(type) == 32) return xla::BitcastConvertType(blocks, type);
  const XlaOp low = xla::ConcatInDim(blocks.builder(), {Word(blocks, 0), Word(blocks, 2)}, 1);
  const XlaOp high = xla::ConcatInDim(blocks.builder(), {Word(blocks, 1), Word(blocks, 3)}, 1);
  return xla::BitcastConvertType(Joined(low, high), type);
}

}  // namespace

XlaOp Element(XlaOp vector, int64_t index) {
  return xla::Reshape(xla::SliceInDim(vector, index, index + 1, 1, 0), {});
}

XlaOp Joined(XlaOp low, XlaOp high) {
  const XlaOp wide = xla::ConvertElementType(high, xla::U64);
  return xla::ConvertElementType(low, xla::U64) | (wide << xla::ScalarLike(wide, 32));
}

XlaOp PhiloxWords(XlaOp key, XlaOp counter, int64_t blocks) {
  xla::XlaBuilder* const builder = key.builder();
  const XlaOp first = Element(counter, 0);
  const XlaOp low = first + xla::Iota(builder, xla::U64, blocks);
  const XlaOp high = Element(counter, 1) + xla::ConvertElementType(xla::Lt(low, first), xla::U64);
  const XlaOp scalar_key = Element(key, 0);
  const std::vector<XlaOp> initial = {Low(low),   High(low),       Low(high),
                                      High(high), Low(scalar_key), High(scalar_key)};
  const auto round = [](absl::Span<const XlaOp> state) -> std::vector<XlaOp> {
    const XlaOp a = Product(state[0], 0xD2511F53), b = Product(state[2], 0xCD9E8D57);
    return {High(b) ^ state[1] ^ state[4],
            Low(b),
            High(a) ^ state[3] ^ state[5],
            Low(a),
            state[4] + xla::ScalarLike(state[4], 0x9E3779B9u),
            state[5] + xla::ScalarLike(state[5], 0xBB67AE85u)};
  };
  return builder->ReportErrorOrReturn([&]() -> absl::StatusOr<XlaOp> {
    // A loop: ten rounds are hundreds of instructions, in each fusion that reads the numbers.
    constexpr int64_t kRounds = 10;
    TF_ASSIGN_OR_RETURN(
        const std::vector<XlaOp> words,
        xla::ForEachIndex(
            kRounds, xla::S32,
            [&](XlaOp, absl::Span<const XlaOp> state,
                xla::XlaBuilder*) -> absl::StatusOr<std::vector<XlaOp>> { return round(state); },
            initial, "philox", builder));
    std::vector<XlaOp> columns;
    for (int i = 0; i < kWordsPerBlock; ++i) {
      columns.push_back(xla::Reshape(words[i], {blocks, 1}));
    }
    return xla::ConcatInDim(builder, columns, 1);
  });
}

bool ArePhiloxNumbersFew(absl::string_view distribution, const xla::Shape& shape) {
  return distribution != "truncated_normal" && xla::ShapeUtil::ElementsIn(shape) <= kMaxNumbers;
}

XlaOp PhiloxNumbers(absl::string_view distribution, XlaOp key, XlaOp counter,
                    const xla::Shape& shape) {
  const PrimitiveType type = shape.element_type();
  const int64_t per_block = xla::primitive_util::BitWidth(type) == 64 ? 2 : kWordsPerBlock;
  const int64_t elements = xla::ShapeUtil::ElementsIn(shape);
  const XlaOp blocks = PhiloxWords(key, counter, (elements + per_block - 1) / per_block);
  const XlaOp numbers = distribution == "uniform"  ? Uniform(blocks, type)
                        : distribution == "normal" ? Normal(blocks, type)
                                                   : Bits(blocks, type);
  return xla::Reshape(xla::SliceInDim(xla::Collapse(numbers, {0, 1}), 0, elements, 1, 0),
                      shape.dimensions());
}

}  // namespace onexpu::tf_plugin
