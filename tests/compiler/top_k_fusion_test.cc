// Which sorts become selections of their first elements.
#include "pjrt_core/compiler/passes/fusion/top_k_fusion.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "pjrt_core/compiler/analysis/top_k_queries.h"
#include "tests/compiler/hlo_test_util.h"
#include "xla/array2d.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/literal.h"
#include "xla/literal_util.h"

namespace onexpu::compiler {
namespace {

using xla::HloOpcode;

// The first elements of rows of 40, with their positions, in the order of `comparator`.
std::unique_ptr<xla::HloModule> Sliced(absl::string_view comparator) {
  return ParseModule(absl::StrCat(R"(
HloModule m
before { a = f32[] parameter(0)
  b = f32[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
)",
                                  comparator, R"( }
ENTRY e {
  x = f32[2,40] parameter(0)
  i = s32[2,40] iota(), iota_dimension=1
  sort = (f32[2,40], s32[2,40]) sort(x, i), dimensions={1}, to_apply=before
  sorted = f32[2,40] get-tuple-element(sort), index=0
  order = s32[2,40] get-tuple-element(sort), index=1
  values = f32[2,3] slice(sorted), slice={[0:2], [0:3]}
  positions = s32[1,2] slice(order), slice={[1:2], [2:4]}
  ROOT t = (f32[2,3], s32[1,2]) tuple(values, positions) })"));
}

bool Select(xla::HloModule& module) {
  const Target target;
  const absl::StatusOr<bool> changed = TopKFusion(target).Run(&module);
  if (!changed.ok()) ADD_FAILURE() << changed.status();
  EXPECT_TRUE(xla::HloDCE().Run(&module).ok());
  return changed.ok() && *changed;
}

// 80 values. Some are equal, and some may be NaN.
xla::Literal Rows(int64_t nans = 0) {
  xla::Array2D<float> x(2, 40);
  x.Each([](int64_t row, int64_t column, float* value) {
    *value = static_cast<float>((40 * row + column) * 37 % 29);
  });
  for (int64_t i = 0; i < nans; ++i) x(0, i) = std::nanf("");
  return xla::LiteralUtil::CreateR2FromArray2D(x);
}

TEST(TopKFusionTest, SlicesOfTheFirstElementsAreOneFusion) {
  const auto module = Sliced("  ROOT r = pred[] compare(a, b), direction=GT");
  const xla::Literal x = Rows();
  const xla::Literal expected = Evaluate(*module, {&x});
  ASSERT_TRUE(Select(*module));
  const std::vector<xla::HloInstruction*> fusions = Instructions(*module, HloOpcode::kFusion);
  ASSERT_EQ(fusions.size(), 1);
  EXPECT_NE(FindSortOfTopK(*fusions[0]), nullptr);
  EXPECT_EQ(fusions[0]->shape().tuple_shapes(0).dimensions(1), 4);
  EXPECT_EQ(fusions[0]->operand_count(), 1);  // positions are computed in the kernel
  EXPECT_TRUE(Instructions(*module, HloOpcode::kSort).empty());
  EXPECT_EQ(Evaluate(*module, {&x}), expected);
  EXPECT_FALSE(Select(*module));
}

TEST(TopKFusionTest, NanComesLastIfTheComparatorLeavesItUnordered) {
  const auto module = Sliced("  ROOT r = pred[] compare(a, b), direction=LT");
  const xla::Literal x = Rows(/*nans=*/37);
  ASSERT_TRUE(Select(*module));
  const std::vector<xla::Literal> results = Evaluate(*module, {&x}).DecomposeTuple();
  for (int64_t i = 0; i < 3; ++i) EXPECT_FALSE(std::isnan(results[0].Get<float>({0, i})));
}

// TensorFlow's: the comparator stays as it is.
TEST(TopKFusionTest, NanComesFirstIfTheComparatorPutsItThere) {
  const auto module = Sliced(R"(  c = pred[] compare(a, b), direction=LE
  n = pred[] not(c)
  e = pred[] compare(b, b), direction=EQ
  ROOT r = pred[] and(n, e))");
  const xla::Literal x = Rows(/*nans=*/2);
  ASSERT_TRUE(Select(*module));
  const std::vector<xla::Literal> results = Evaluate(*module, {&x}).DecomposeTuple();
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(std::isnan(results[0].Get<float>({0, i})), i < 2);
}

// The result of such a sort may depend on its algorithm.
TEST(TopKFusionTest, OtherComparatorsAreLeftAlone) {
  for (const absl::string_view comparator : {
           "  ROOT r = pred[] compare(a, b), direction=GE",
           "  d = f32[] subtract(a, b)\n  z = f32[] constant(0)\n"
           "  ROOT r = pred[] compare(d, z), direction=LT",
           "  d = f32[] subtract(a, b)\n  e = f32[] subtract(b, a)\n"
           "  ROOT r = pred[] compare(d, e), direction=LT",
           "  c = pred[] compare(a, b), direction=LE\n  n = pred[] not(c)\n"
           "  e = pred[] compare(a, a), direction=EQ\n  ROOT r = pred[] and(n, e)",
           "  n = f32[] negate(b)\n  ROOT r = pred[] compare(a, n), direction=LT",
       }) {
    EXPECT_FALSE(Select(*Sliced(comparator))) << comparator;
  }
}

TEST(TopKFusionTest, SortsWithOtherUsersAreLeftAlone) {
  const auto module = ParseModule(R"(
HloModule m
before { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT }
ENTRY e {
  x = f32[2,40] parameter(0)
  sort = f32[2,40] sort(x), dimensions={1}, to_apply=before
  first = f32[2,3] slice(sort), slice={[0:2], [0:3]}
  all = f32[2,40] negate(sort)
  ROOT t = (f32[2,3], f32[2,40]) tuple(first, all) })");
  EXPECT_FALSE(Select(*module));
}

}  // namespace
}  // namespace onexpu::compiler
