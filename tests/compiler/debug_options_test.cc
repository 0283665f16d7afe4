// What is read out of XLA_FLAGS, and what is left alone.
#include "pjrt_core/compiler/dump/debug_options.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "pjrt_core/compiler/dump/xla_flags.h"
#include "xla/debug_options_flags.h"
#include "xla/xla.pb.h"

namespace onexpu::compiler {
namespace {

TEST(XlaFlagsTest, SplitsAtWhiteSpaceOutsideOfQuotes) {
  EXPECT_EQ(SplitFlags("  --a=1\t--b='x y' \"--c\"\n"),
            (std::vector<std::string>{"--a=1", "--b=x y", "--c"}));
  EXPECT_TRUE(SplitFlags("  ").empty());
}

TEST(DebugOptionsTest, TakesTheDumpFlagsAndNothingElse) {
  const xla::DebugOptions options = MakeDebugOptions(
      "--xla_cpu_ftz=true --xla_dump_to=/somewhere --xla_dump_hlo_pass_re=fusion "
      "--xla_backend_optimization_level=0 --xla_dump_hlo_as_proto",
      {});
  EXPECT_EQ(options.xla_dump_to(), "/somewhere");
  EXPECT_EQ(options.xla_dump_hlo_pass_re(), "fusion");
  EXPECT_TRUE(options.xla_dump_hlo_as_proto());
  EXPECT_EQ(options.xla_backend_optimization_level(),
            xla::DefaultDebugOptionsIgnoringFlags().xla_backend_optimization_level());
}

TEST(DebugOptionsTest, ADirectoryAloneMeansText) {
  EXPECT_TRUE(MakeDebugOptions("--xla_dump_to=/d", {}).xla_dump_hlo_as_text());
  EXPECT_FALSE(MakeDebugOptions("", {}).xla_dump_hlo_as_text());
  EXPECT_FALSE(MakeDebugOptions("--xla_dump_to=/d --xla_dump_hlo_as_text=true "
                                "--xla_dump_hlo_as_text=false --xla_dump_hlo_as_dot",
                                {})
                   .xla_dump_hlo_as_text());
}

TEST(DebugOptionsTest, TheRequestGoesBeforeTheVariable) {
  xla::DebugOptions requested;
  requested.set_xla_dump_to("/asked");
  EXPECT_EQ(MakeDebugOptions("--xla_dump_to=/flags", requested).xla_dump_to(), "/asked");
}

// In a process of its own, for XLA reads the variable once.
TEST(XlaFlagsDeathTest, FlagsOfAnotherXlaDoNotEndTheProcess) {
  const auto read = [] {
    setenv("XLA_FLAGS", "--no_such_flag=1 --xla_dump_to=/kept", 1);
    ReadXlaFlagsWithoutUnknown();
    const bool kept = xla::GetDebugOptionsFromFlags().xla_dump_to() == "/kept";
    const bool restored =
        std::string(std::getenv("XLA_FLAGS")) == "--no_such_flag=1 --xla_dump_to=/kept";
    std::exit(kept && restored ? 0 : 1);
  };
  EXPECT_EXIT(read(), ::testing::ExitedWithCode(0), "");
}

TEST(XlaFlagsDeathTest, WithoutUsTheyDo) {
  const auto read = [] {
    setenv("XLA_FLAGS", "--no_such_flag=1", 1);
    xla::GetDebugOptionsFromFlags();
    std::exit(0);
  };
  EXPECT_DEATH(read(), "no_such_flag");
}

}  // namespace
}  // namespace onexpu::compiler
