#include "tf_plugin/core/xla_flags.h"

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/debug_options_flags.h"

namespace onexpu::tf_plugin {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Values(absl::string_view flags) {
  std::vector<std::string> values;
  for (const FlagWord& word : SplitFlags(flags)) values.push_back(word.value);
  return values;
}

TEST(SplitFlagsTest, WhiteSpaceSeparates) {
  EXPECT_THAT(Values(" --a=1\t--b\n -c "), ElementsAre("--a=1", "--b", "-c"));
  EXPECT_THAT(Values("  \n"), IsEmpty());
}

TEST(SplitFlagsTest, QuotesKeepWhiteSpaceAndFallAway) {
  EXPECT_THAT(Values("--a='x y' --b=\"z \\\" w\""), ElementsAre("--a=x y", "--b=z \" w"));
  EXPECT_EQ(SplitFlags("--a='x y'").front().written, "--a='x y'");
}

TEST(SplitFlagsTest, AnOpenQuoteEndsWithTheText) {
  EXPECT_THAT(Values("--a='x y"), ElementsAre("--a=x y"));
}

TEST(KeepKnownFlagsTest, DropsAndReportsTheOthers) {
  std::vector<std::string> dropped;
  const std::string kept = KeepKnownFlags(
      "--a='x y' --b=2 --c", [](const std::string& value) { return value != "--b=2"; }, &dropped);
  EXPECT_EQ(kept, "--a='x y' --c");
  EXPECT_THAT(dropped, ElementsAre("--b=2"));
}

// Once per process: TensorFlow's XLA parses the variable once.
TEST(ParseXlaFlagsTest, KnownFlagsTakeEffectAndTheVariableStays) {
  const std::string flags = "--xla_cpu_ftz=true --xla_dump_max_hlo_modules=7";
  setenv("XLA_FLAGS", flags.c_str(), 1);
  ParseXlaFlagsKnownToTensorFlow();
  EXPECT_EQ(xla::GetDebugOptionsFromFlags().xla_dump_max_hlo_modules(), 7);
  EXPECT_EQ(std::getenv("XLA_FLAGS"), flags);
}

}  // namespace
}  // namespace onexpu::tf_plugin
