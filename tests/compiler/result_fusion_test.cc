// Which kernels are merged into the one that reads their result.
#include "pjrt_core/compiler/passes/fusion/result_fusion.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tests/compiler/hlo_test_util.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"

namespace onexpu::compiler {
namespace {

using xla::HloOpcode;

absl::StatusOr<bool> MergeResults(xla::HloModule* module) {
  Target target;
  target.compute_units = 16;
  return ResultFusion(target).Run(module);
}

// An optimiser's step: two states and what follows from both, with a scalar.
std::string Step(absl::string_view last) {
  return absl::StrCat(R"(
HloModule m
square { g = f32[8] parameter(0)
  s = f32[8] parameter(1)
  p = f32[8] multiply(g, g)
  ROOT r = f32[8] add(s, p) }
root { s = f32[8] parameter(0)
  ROOT r = f32[8] sqrt(s) }
mean { g = f32[8] parameter(0)
  m = f32[8] parameter(1)
  b = f32[] parameter(2)
  w = f32[8] broadcast(b), dimensions={}
  p = f32[8] multiply(m, w)
  ROOT r = f32[8] add(p, g) }
update { x = f32[8] parameter(0)
  m = f32[8] parameter(1)
  r = f32[8] parameter(2)
  b = f32[] parameter(3)
  w = f32[8] broadcast(b), dimensions={}
  q = f32[8] divide(m, r)
  d = f32[8] multiply(q, w)
)",
                      last, R"(
ENTRY e {
  x = f32[8] parameter(0)
  g = f32[8] parameter(1)
  s = f32[8] parameter(2)
  m = f32[8] parameter(3)
  b = f32[] parameter(4)
  square = f32[8] fusion(g, s), kind=kLoop, calls=square
  root = f32[8] fusion(square), kind=kLoop, calls=root
  mean = f32[8] fusion(g, m, b), kind=kLoop, calls=mean
  update = f32[8] fusion(x, mean, root, b), kind=kLoop, calls=update
  again = f32[8] negate(root)
  ROOT t = (f32[8], f32[8], f32[8], f32[8]) tuple(update, square, mean, again)
})");
}

constexpr absl::string_view kElementwiseEnd = "  ROOT y = f32[8] subtract(x, d) }";

TEST(ResultFusionTest, WhatFollowsElementByElementIsOneKernel) {
  const auto module = ParseModule(Step(kElementwiseEnd));
  const xla::Literal x = xla::LiteralUtil::CreateR1<float>({1, 2, 3, 4, 5, 6, 7, 8});
  const xla::Literal g = xla::LiteralUtil::CreateR1<float>({3, 1, 4, 1, 5, 9, 2, 6});
  const xla::Literal s = xla::LiteralUtil::CreateR1<float>({2, 7, 1, 8, 2, 8, 1, 8});
  const xla::Literal m = xla::LiteralUtil::CreateR1<float>({-1, 0, 1, 2, -2, 3, 0.5, 4});
  const xla::Literal b = xla::LiteralUtil::CreateR0<float>(0.5);
  const xla::Literal expected = Evaluate(*module, {&x, &g, &s, &m, &b});

  const auto changed = MergeResults(module.get());
  ASSERT_TRUE(changed.ok() && *changed) << changed.status();
  ASSERT_EQ(Instructions(*module, HloOpcode::kFusion).size(), 1);
  EXPECT_EQ(Instructions(*module, HloOpcode::kFusion)[0]->shape().tuple_shapes().size(), 4);
  EXPECT_EQ(Evaluate(*module, {&x, &g, &s, &m, &b}), expected);
  EXPECT_FALSE(MergeResults(module.get()).value());
}

// The update reads its operands elsewhere: only the root joins the square below it.
TEST(ResultFusionTest, WhatIsReadElsewhereStaysApart) {
  const auto module = ParseModule(Step(R"(  v = f32[8] reverse(d), dimensions={0}
  ROOT y = f32[8] subtract(x, v) })"));
  const auto changed = MergeResults(module.get());
  ASSERT_TRUE(changed.ok() && *changed) << changed.status();
  EXPECT_EQ(Instructions(*module, HloOpcode::kFusion).size(), 3);
}

// Between the two lies a sum that the second waits for.
TEST(ResultFusionTest, WhatOthersWaitForStaysApart) {
  const auto module = ParseModule(R"(
HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
square { g = f32[8] parameter(0)
  ROOT r = f32[8] multiply(g, g) }
sum { g = f32[8] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[] reduce(g, z), dimensions={0}, to_apply=add }
scale { s = f32[8] parameter(0)
  t = f32[] parameter(1)
  w = f32[8] broadcast(t), dimensions={}
  ROOT r = f32[8] divide(s, w) }
ENTRY e {
  g = f32[8] parameter(0)
  square = f32[8] fusion(g), kind=kLoop, calls=square
  sum = f32[] fusion(square), kind=kInput, calls=sum
  ROOT scale = f32[8] fusion(square, sum), kind=kLoop, calls=scale
})");
  EXPECT_FALSE(MergeResults(module.get()).value());
}

// The second might be written over an array that the first reads elsewhere.
TEST(ResultFusionTest, WhatMayBeWrittenOverIsReadAtTheSamePlace) {
  const auto module = ParseModule(R"(
HloModule m
mirror { a = f32[8] parameter(0)
  v = f32[8] reverse(a), dimensions={0}
  ROOT r = f32[8] negate(v) }
add { a = f32[8] parameter(0)
  v = f32[8] parameter(1)
  ROOT r = f32[8] add(a, v) }
ENTRY e {
  a = f32[8] parameter(0)
  mirror = f32[8] fusion(a), kind=kLoop, calls=mirror
  sum = f32[8] fusion(a, mirror), kind=kLoop, calls=add
  ROOT t = (f32[8], f32[8]) tuple(mirror, sum)
})");
  EXPECT_FALSE(MergeResults(module.get()).value());
}

// What the second takes off an array in its place, the sum has to have read before.
TEST(ResultFusionTest, WhatOthersReadInItsPlaceStaysApart) {
  const auto module = ParseModule(R"(
HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
direction { g = f32[8] parameter(0)
  ROOT r = f32[8] tanh(g) }
step { x = f32[8] parameter(0)
  d = f32[8] parameter(1)
  ROOT r = f32[8] subtract(x, d) }
along { x = f32[8] parameter(0)
  d = f32[8] parameter(1)
  p = f32[8] multiply(x, d)
  z = f32[] constant(0)
  ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=add }
ENTRY e {
  x = f32[8] parameter(0)
  g = f32[8] parameter(1)
  direction = f32[8] fusion(g), kind=kLoop, calls=direction
  step = f32[8] fusion(x, direction), kind=kLoop, calls=step
  along = f32[] fusion(x, direction), kind=kInput, calls=along
  ROOT t = (f32[8], f32[]) tuple(step, along)
})");
  EXPECT_FALSE(MergeResults(module.get()).value());
}

// The program's result stays its root, although its user only feeds a callback.
TEST(ResultFusionTest, TheRootIsNotFused) {
  const auto module = ParseModule(R"(
HloModule m
sine { a = f32[8] parameter(0)
  ROOT r = f32[8] sine(a) }
double { a = f32[8] parameter(0)
  ROOT r = f32[8] add(a, a) }
ENTRY e {
  a = f32[8] parameter(0)
  ROOT sine = f32[8] fusion(a), kind=kLoop, calls=sine
  double = f32[8] fusion(sine), kind=kLoop, calls=double
  tell = () custom-call(double), custom_call_target="tell", custom_call_has_side_effect=true
})");
  EXPECT_FALSE(MergeResults(module.get()).value());
}

// A loop that is one kernel has no launches to spare.
TEST(ResultFusionTest, SmallLoopsStayAsTheyAre) {
  const auto of_size = [](absl::string_view size) {
    return ParseModule(absl::StrReplaceAll(R"(
HloModule m
double { a = f32[SIZE] parameter(0)
  ROOT r = f32[SIZE] add(a, a) }
sine { a = f32[SIZE] parameter(0)
  ROOT r = f32[SIZE] sine(a) }
body { s = (f32[SIZE], f32[SIZE], s32[]) parameter(0)
  a = f32[SIZE] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=2
  one = f32[SIZE] fusion(a), kind=kLoop, calls=sine
  two = f32[SIZE] fusion(one), kind=kLoop, calls=double
  ROOT r = (f32[SIZE], f32[SIZE], s32[]) tuple(two, one, i) }
condition { s = (f32[SIZE], f32[SIZE], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=2
  n = s32[] constant(5)
  ROOT r = pred[] compare(i, n), direction=LT }
ENTRY e {
  s = (f32[SIZE], f32[SIZE], s32[]) parameter(0)
  ROOT w = (f32[SIZE], f32[SIZE], s32[]) while(s), condition=condition, body=body
})",
                                           {{"SIZE", size}}));
  };
  EXPECT_FALSE(MergeResults(of_size("8").get()).value());
  EXPECT_TRUE(MergeResults(of_size("8000000").get()).value());
}

TEST(ResultFusionTest, LargeKernelsStayApart) {
  const auto of_length = [](int length) {
    std::string text = R"(
HloModule m
first { v0 = f32[8] parameter(0)
)";
    for (int i = 1; i < length; ++i)
      absl::StrAppend(&text, "v", i, " = f32[8] sine(v", i - 1, ")\n");
    return ParseModule(absl::StrCat(text, "ROOT r = f32[8] negate(v", length - 1, R"() }
second { a = f32[8] parameter(0)
  ROOT r = f32[8] negate(a) }
ENTRY e {
  a = f32[8] parameter(0)
  first = f32[8] fusion(a), kind=kLoop, calls=first
  second = f32[8] fusion(first), kind=kLoop, calls=second
  ROOT t = (f32[8], f32[8]) tuple(first, second)
})"));
  };
  EXPECT_TRUE(MergeResults(of_length(50).get()).value());
  EXPECT_FALSE(MergeResults(of_length(200).get()).value());
}

}  // namespace
}  // namespace onexpu::compiler
