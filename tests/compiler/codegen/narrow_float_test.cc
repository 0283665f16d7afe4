// Conversions of narrow floats, for every pattern of bits: LLVM folds the generated arithmetic on
// constants, so that what the kernels compute is seen without a device.
#include "pjrt_core/compiler/codegen/math/narrow_float.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "xla/primitive_util.h"

namespace onexpu::compiler {
namespace {

template <typename To, typename From>
To BitCast(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  std::memcpy(&result, &value, sizeof(result));
  return result;
}

class Folder {
 public:
  float Decode(uint64_t bits, int width, xla::PrimitiveType type) {
    llvm::Value* value =
        DecodeNarrowFloat(builder_.getIntN(width, bits), type, /*has_fp16=*/false, builder_);
    return AsFloat(value);
  }
  uint64_t Encode(float value, xla::PrimitiveType type) {
    llvm::Value* bits = EncodeNarrowFloat(Constant(value), type, /*has_fp16=*/false, builder_);
    return llvm::cast<llvm::ConstantInt>(bits)->getZExtValue();
  }
  float Round(float value, xla::PrimitiveType type) {
    return AsFloat(RoundToNarrowFloat(Constant(value), type, /*has_fp16=*/false, builder_));
  }
  float Odd(double value) {
    return AsFloat(TruncateToOdd(llvm::ConstantFP::get(context_, llvm::APFloat(value)), builder_));
  }

 private:
  llvm::Value* Constant(float value) {
    return llvm::ConstantFP::get(context_, llvm::APFloat(value));
  }
  float AsFloat(llvm::Value* value) {
    return llvm::cast<llvm::ConstantFP>(value)->getValueAPF().convertToFloat();
  }

  llvm::LLVMContext context_;
  llvm::IRBuilder<> builder_{context_};
};

// The type's own conversions are the reference: those of Eigen and ml_dtypes, as hosts use them.
template <xla::PrimitiveType kType>
struct Format {
  using Native = xla::primitive_util::NativeTypeOf<kType>;
  static constexpr xla::PrimitiveType type = kType;
  static constexpr int width = 8 * sizeof(Native);
  using Bits = std::conditional_t<sizeof(Native) == 1, uint8_t, uint16_t>;
};

template <typename T>
class NarrowFloatTest : public ::testing::Test {
 protected:
  using Bits = typename T::Bits;
  using Native = typename T::Native;

  static std::vector<float> Samples() {
    std::vector<float> samples = {0.0f,    -0.0f, 1e30f,    -1e30f,   3e38f,   1e-30f,
                                  -1e-45f, 0.5f,  65504.0f, 65519.9f, 65520.0f};
    const float infinity = std::numeric_limits<float>::infinity();
    samples.insert(samples.end(), {infinity, -infinity});
    // Every representable value, its neighbours, and the points halfway between two of them.
    for (uint32_t bits = 0; bits < (1u << T::width); ++bits) {
      const float value = static_cast<float>(BitCast<Native>(static_cast<Bits>(bits)));
      if (!std::isfinite(value)) continue;
      samples.push_back(value);
      samples.push_back(std::nextafterf(value, infinity));
      const float next = static_cast<float>(BitCast<Native>(static_cast<Bits>(bits + 1)));
      if (std::isfinite(next)) samples.push_back(value + (next - value) / 2);
    }
    std::mt19937 random(1);
    for (int i = 0; i < 2000; ++i)
      samples.push_back(BitCast<float>(static_cast<uint32_t>(random())));
    return samples;
  }
};

using Formats =
    ::testing::Types<Format<xla::F16>, Format<xla::BF16>, Format<xla::F8E5M2>, Format<xla::F8E4M3>,
                     Format<xla::F8E3M4>, Format<xla::F8E4M3FN>, Format<xla::F8E4M3B11FNUZ>,
                     Format<xla::F8E5M2FNUZ>, Format<xla::F8E4M3FNUZ>, Format<xla::F8E8M0FNU>>;
TYPED_TEST_SUITE(NarrowFloatTest, Formats);

TYPED_TEST(NarrowFloatTest, DecodesEveryPattern) {
  using Bits = typename TypeParam::Bits;
  using Native = typename TypeParam::Native;
  Folder folder;
  for (uint32_t bits = 0; bits < (1u << TypeParam::width); ++bits) {
    const float expected = static_cast<float>(BitCast<Native>(static_cast<Bits>(bits)));
    const float actual = folder.Decode(bits, TypeParam::width, TypeParam::type);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(actual)) << bits;
    } else {
      ASSERT_EQ(BitCast<uint32_t>(actual), BitCast<uint32_t>(expected)) << bits;
    }
  }
}

TYPED_TEST(NarrowFloatTest, EncodesAsHostsDo) {
  using Bits = typename TypeParam::Bits;
  using Native = typename TypeParam::Native;
  Folder folder;
  for (float sample : this->Samples()) {
    const Native expected = static_cast<Native>(sample);
    const uint64_t actual = folder.Encode(sample, TypeParam::type);
    if (std::isnan(static_cast<float>(expected))) {
      ASSERT_TRUE(std::isnan(folder.Decode(actual, TypeParam::width, TypeParam::type))) << sample;
    } else {
      ASSERT_EQ(actual, BitCast<Bits>(expected)) << sample;
    }
  }
}

TYPED_TEST(NarrowFloatTest, RoundsToWhatItEncodes) {
  Folder folder;
  for (float sample : this->Samples()) {
    const float rounded = folder.Round(sample, TypeParam::type);
    const float decoded =
        folder.Decode(folder.Encode(sample, TypeParam::type), TypeParam::width, TypeParam::type);
    if (std::isnan(decoded)) {
      ASSERT_TRUE(std::isnan(rounded)) << sample;
    } else {
      ASSERT_EQ(BitCast<uint32_t>(rounded), BitCast<uint32_t>(decoded)) << sample;
    }
  }
}

TEST(TruncateToOddTest, MakesRoundingTwiceAsGoodAsOnce) {
  Folder folder;
  // Halfway between two halves in f16, and a bit more than f32 can tell: rounding to f32 first
  // would lose the bit.
  const double tie = 1.0 + std::ldexp(1.0, -11);
  const double above = tie + std::ldexp(1.0, -40);
  EXPECT_EQ(folder.Encode(folder.Odd(tie), xla::F16), 0x3c00u);
  EXPECT_EQ(folder.Encode(folder.Odd(above), xla::F16), 0x3c01u);
  EXPECT_EQ(folder.Encode(folder.Odd(-above), xla::F16), 0xbc01u);
  EXPECT_EQ(folder.Odd(0.25), 0.25f);
  EXPECT_TRUE(std::isinf(folder.Odd(std::numeric_limits<double>::infinity())));
  EXPECT_TRUE(std::isnan(folder.Odd(std::numeric_limits<double>::quiet_NaN())));
}

}  // namespace
}  // namespace onexpu::compiler
