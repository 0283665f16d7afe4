#include "custom_kernels/hidden_negations.h"

#include <cstring>

#include "gtest/gtest.h"

namespace onexpu {
namespace {

std::vector<uint8_t> Bytes(const std::vector<uint32_t>& words) {
  std::vector<uint8_t> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

std::vector<uint32_t> WordsOf(const std::vector<uint8_t>& bytes) {
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

int CountOf(uint32_t opcode, const std::vector<uint32_t>& words) {
  int count = 0;
  for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
    count += (words[at] & 0xffff) == opcode;
  }
  return count;
}

// A function with a negation of a number of `width` bits, between a barrier and its end.
std::vector<uint32_t> Module(uint32_t width, bool has_barrier) {
  std::vector<uint32_t> words = {0x07230203, 0x00010000, 0, 20, 0,
                                 // The fast-math mode of the negation.
                                 4 << 16 | 71, 9, 40, 1,
                                 // float, and a function with a block.
                                 3 << 16 | 22, 1, width, 5 << 16 | 54, 2, 3, 0, 4, 2 << 16 | 248,
                                 5};
  if (has_barrier) words.insert(words.end(), {4 << 16 | 224, 6, 6, 7});
  words.insert(words.end(), {4 << 16 | 127, 1, 9, 8, 1 << 16 | 253, 1 << 16 | 56});
  return words;
}

TEST(HiddenNegationsTest, LeavesModulesWithoutBarriersAlone) {
  EXPECT_FALSE(WithHiddenNegations(Bytes(Module(32, false))).has_value());
}

TEST(HiddenNegationsTest, FlipsTheSignInIntegers) {
  for (const uint32_t width : {16, 32, 64}) {
    const auto rewritten = WithHiddenNegations(Bytes(Module(width, true)));
    ASSERT_TRUE(rewritten.has_value());
    const std::vector<uint32_t> words = WordsOf(*rewritten);
    EXPECT_EQ(CountOf(127, words), 0) << width;
    EXPECT_EQ(CountOf(198, words), 1) << width;
    EXPECT_EQ(CountOf(124, words), 2) << width;
    EXPECT_EQ(CountOf(71, words), 0) << width;
    EXPECT_EQ(CountOf(21, words), 1) << width;
    EXPECT_EQ(CountOf(17, words), width == 32 ? 0 : 1) << width;  // Int16, Int64
    EXPECT_GT(words[3], 20u);
    // Declarations come before the function.
    for (size_t at = 5, last = 0; at < words.size(); at += words[at] >> 16) {
      const uint32_t opcode = words[at] & 0xffff;
      if (opcode == 54) last = 1;
      if (opcode == 21 || opcode == 43) EXPECT_EQ(last, 0u) << width;
    }
  }
}

}  // namespace
}  // namespace onexpu
