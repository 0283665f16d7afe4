// Passes that split windows: what becomes of reduce-window and select-and-scatter, that the values
// stay the same, and which ones are left alone.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "pjrt_core/compiler/passes/numerics/selection_splitter.h"
#include "pjrt_core/compiler/passes/numerics/window_splitter.h"
#include "tests/compiler/hlo_test_util.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace onexpu::compiler {
namespace {

using xla::HloOpcode;

std::unique_ptr<xla::HloModule> Reduction(absl::string_view operation, absl::string_view initial,
                                          absl::string_view operand, absl::string_view result,
                                          absl::string_view window) {
  return ParseModule(absl::StrCat(R"(HloModule m
combine { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] )",
                                  operation, R"((a, b) }
ENTRY e { x = )",
                                  operand, R"( parameter(0)
  initial = f32[] constant()",
                                  initial, R"()
  ROOT r = )",
                                  result, " reduce-window(x, initial), window={", window,
                                  "}, to_apply=combine }"));
}

std::unique_ptr<xla::HloModule> Sum(absl::string_view operand, absl::string_view result,
                                    absl::string_view window) {
  return Reduction("add", "0", operand, result, window);
}

// The elements of windows that one result of the module's reduce-windows takes, together.
int64_t Steps(xla::HloModule& module) {
  int64_t steps = 0;
  for (const auto* reduction : Instructions(module, HloOpcode::kReduceWindow)) {
    int64_t size = 1;
    for (const auto& dimension : reduction->window().dimensions()) size *= dimension.size();
    steps += size;
  }
  return steps;
}

TEST(WindowSplitterTest, SplitsALongWindow) {
  const auto module = Sum("f32[300]", "f32[201]", "size=100");
  EXPECT_TRUE(Changes<WindowSplitter>(*module));
  EXPECT_EQ(Steps(*module), 10 + 10);
}

TEST(WindowSplitterTest, AddsTheRestOfAWindowBehindEqualParts) {
  const auto module = Sum("f32[300]", "f32[300]", "size=103 pad=51_51");
  EXPECT_TRUE(Changes<WindowSplitter>(*module));
  EXPECT_EQ(Steps(*module), 10 + 10 + 3);
}

TEST(WindowSplitterTest, SplitsWithStridesAndDilation) {
  const auto module = Sum("f32[400]", "f32[84]", "size=51 stride=3 rhs_dilate=3");
  EXPECT_TRUE(Changes<WindowSplitter>(*module));
  EXPECT_EQ(Steps(*module), 7 + 7 + 2);
}

TEST(WindowSplitterTest, ReducesAnAreaAlongOneDimensionAfterTheOther) {
  const auto module = Sum("f32[40,50]", "f32[40,50]", "size=15x17 pad=7_7x8_8");
  EXPECT_TRUE(Changes<WindowSplitter>(*module));
  EXPECT_EQ(Steps(*module), 15 + 17);
}

TEST(WindowSplitterTest, SplitsMaxima) {
  EXPECT_TRUE(
      Changes<WindowSplitter>(*Reduction("maximum", "-inf", "f32[300]", "f32[201]", "size=100")));
}

TEST(WindowSplitterTest, LeavesShortWindows) {
  EXPECT_FALSE(Changes<WindowSplitter>(*Sum("f32[300]", "f32[261]", "size=40")));
  EXPECT_FALSE(Changes<WindowSplitter>(*Sum("f32[20,20]", "f32[14,14]", "size=7x7")));
}

TEST(WindowSplitterTest, LeavesWindowsThatHardlyOverlap) {
  EXPECT_FALSE(Changes<WindowSplitter>(*Sum("f32[300]", "f32[3]", "size=100 stride=100")));
}

TEST(WindowSplitterTest, LeavesAnInitialValueThatCounts) {
  EXPECT_FALSE(Changes<WindowSplitter>(*Reduction("add", "1", "f32[300]", "f32[201]", "size=100")));
}

std::unique_ptr<xla::HloModule> Scatter(absl::string_view operand, absl::string_view source,
                                        absl::string_view window, absl::string_view initial = "0",
                                        absl::string_view combination = "add") {
  return ParseModule(absl::StrCat(
      R"(HloModule m
keeps { a = f32[] parameter(0)
  b = f32[] parameter(1)
  less = pred[] compare(a, b), direction=LT
  ROOT k = pred[] not(less) }
combine { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] )",
      combination, R"((a, b) }
ENTRY e { x = )",
      operand, " parameter(0)\n  source = ", source, " parameter(1)\n  initial = f32[] constant(",
      initial, ")\n  ROOT r = ", operand, " select-and-scatter(x, source, initial), window={",
      window, "}, select=keeps, scatter=combine }"));
}

TEST(SelectionSplitterTest, SplitsWindowsThatOverlap) {
  const auto module =
      Scatter("f32[2,13,9]", "f32[2,7,5]", "size=1x3x3 stride=1x2x2 pad=0_0x1_1x1_1");
  EXPECT_TRUE(Changes<SelectionSplitter>(*module));
  EXPECT_TRUE(Instructions(*module, HloOpcode::kSelectAndScatter).empty());
}

TEST(SelectionSplitterTest, SplitsWindowsWithoutPadding) {
  EXPECT_TRUE(Changes<SelectionSplitter>(*Scatter("f32[20]", "f32[9]", "size=3 stride=2")));
}

TEST(SelectionSplitterTest, LeavesWindowsThatDoNotOverlap) {
  EXPECT_FALSE(Changes<SelectionSplitter>(*Scatter("f32[20]", "f32[10]", "size=2 stride=2")));
}

TEST(SelectionSplitterTest, LeavesLargeWindows) {
  EXPECT_FALSE(Changes<SelectionSplitter>(*Scatter("f32[60]", "f32[21]", "size=40")));
}

TEST(SelectionSplitterTest, LeavesOtherSums) {
  EXPECT_FALSE(Changes<SelectionSplitter>(*Scatter("f32[20]", "f32[9]", "size=3 stride=2", "1")));
  EXPECT_FALSE(
      Changes<SelectionSplitter>(*Scatter("f32[20]", "f32[9]", "size=3 stride=2", "0", "maximum")));
}

}  // namespace
}  // namespace onexpu::compiler
