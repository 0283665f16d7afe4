#include "custom_kernels/header_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace onexpu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(HeaderOptionsTest, MacrosOfTheUserBecomeLines) {
  const HeaderOptions split =
      SplitHeaderOptions({"-DWIDTH=4", "-D", "HALF=(WIDTH / 2)", "-DFAST", "-DSUM(a,b)=a + b",
                          "-DEMPTY=", "-UFAST", "-U", "WIDTH"});
  EXPECT_THAT(split.for_headers, IsEmpty());
  EXPECT_EQ(split.for_source,
            "#define WIDTH 4\n#define HALF (WIDTH / 2)\n#define FAST 1\n#define SUM(a,b) a + b\n"
            "#define EMPTY \n#undef FAST\n#undef WIDTH\n");
}

TEST(HeaderOptionsTest, WhatHeadersMayReadStays) {
  const std::vector<std::string> options = {
      "-O3",          "-I",       "include", "-Iinclude", "-DNDEBUG",
      "-D_GLIBCXX_X", "-DSYCL_X", "-D",      "__X=1",     "-DCL_TARGET_OPENCL_VERSION=300",
      "-USYCL_X",     "-D=4",     "-D4=4",   "-DA=1\n2",  "-D",
  };
  const HeaderOptions split = SplitHeaderOptions(options);
  EXPECT_EQ(split.for_headers, options);
  EXPECT_EQ(split.for_source, "");
}

TEST(HeaderOptionsTest, TheRestKeepsItsOrder) {
  const HeaderOptions split = SplitHeaderOptions({"-O2", "-DA", "-Ione", "-D", "B", "-Itwo"});
  EXPECT_THAT(split.for_headers, ElementsAre("-O2", "-Ione", "-Itwo"));
  EXPECT_EQ(split.for_source, "#define A 1\n#define B 1\n");
}

}  // namespace
}  // namespace onexpu
