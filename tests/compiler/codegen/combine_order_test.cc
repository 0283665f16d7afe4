// Which reductions may combine their elements in which order.
#include "pjrt_core/compiler/analysis/combine_order.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tests/compiler/hlo_test_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"

namespace onexpu::compiler {
namespace {

// A reducer of one array of `type`, its parameters a and b.
bool IsSymmetric(absl::string_view type, absl::string_view body) {
  const std::unique_ptr<xla::HloModule> module =
      ParseModule(absl::StrCat("HloModule m\nENTRY r {\n a = ", type,
                               "[] parameter(0)\n b = ", type, "[] parameter(1)\n", body, "\n}\n"));
  return module != nullptr && IsSymmetricReducer(*module->entry_computation());
}

TEST(SymmetricReducerTest, SumsAndExtremesAre) {
  for (const char* opcode : {"add", "multiply", "maximum", "minimum", "and", "or", "xor"}) {
    EXPECT_TRUE(IsSymmetric("s32", absl::StrCat("ROOT r = s32[] ", opcode, "(b, a)"))) << opcode;
  }
  EXPECT_TRUE(IsSymmetric("bf16", R"(
    x = f32[] convert(a)
    y = f32[] convert(b)
    s = f32[] add(x, y)
    ROOT r = bf16[] convert(s))"));
}

TEST(SymmetricReducerTest, ALongerFormulaIs) {
  EXPECT_TRUE(IsSymmetric("f32", R"(
    x = f32[] exponential(a)
    y = f32[] exponential(b)
    s = f32[] add(y, x)
    ROOT r = f32[] log(s))"));
  EXPECT_TRUE(IsSymmetric("f32", R"(
    lt = pred[] compare(a, b), direction=LT
    gt = pred[] compare(a, b), direction=GT
    o = pred[] or(lt, gt)
    s = f32[] add(a, b)
    m = f32[] multiply(a, b)
    ROOT r = f32[] select(o, s, m))"));
}

TEST(SymmetricReducerTest, ProjectionsAndSelectionsAreNot) {
  EXPECT_FALSE(IsSymmetric("f32", "ROOT r = f32[] copy(b)"));
  EXPECT_FALSE(IsSymmetric("f32", "ROOT r = f32[] add(a, a)"));
  EXPECT_FALSE(IsSymmetric("f32", "ROOT r = f32[] subtract(a, b)"));
  EXPECT_FALSE(IsSymmetric("f32", R"(
    s = f32[] add(a, b)
    ROOT r = f32[] subtract(s, b))"));
  // Of two NaNs, or a NaN and a number, the argument's side decides.
  EXPECT_FALSE(IsSymmetric("f32", R"(
    c = pred[] compare(a, b), direction=GT
    ROOT r = f32[] select(c, a, b))"));
}

// The reducer of jnp.argmax and jnp.argmin, of values of `type`.
std::string JaxArgMinMax(absl::string_view type, absl::string_view direction) {
  return absl::StrCat(R"(
    r {
      a = )",
                      type, R"([] parameter(0)
      i = s32[] parameter(1)
      b = )",
                      type, R"([] parameter(2)
      j = s32[] parameter(3)
      better = pred[] compare(a, b), direction=)",
                      direction, R"(
      is_nan = pred[] compare(a, a), direction=NE
      pick = pred[] or(better, is_nan)
      value = )",
                      type, R"([] select(pick, a, b)
      equal = pred[] compare(a, b), direction=EQ
      before = pred[] compare(i, j), direction=LT
      tie = pred[] and(equal, before)
      pick_index = pred[] or(pick, tie)
      index = s32[] select(pick_index, i, j)
      ROOT t = ()",
                      type, "[], s32[]) tuple(value, index)\n}\n");
}

// What xla::ArgMax of the builder's library makes.
constexpr char kBuilderArgMax[] = R"(
    r {
      a = f32[] parameter(0)
      i = s32[] parameter(1)
      b = f32[] parameter(2)
      j = s32[] parameter(3)
      c = pred[] compare(a, b), direction=GE
      value = f32[] select(c, a, b)
      picked = s32[] select(c, i, j)
      equal = pred[] compare(a, b), direction=EQ
      tie = s32[] minimum(i, j)
      index = s32[] select(equal, tie, picked)
      ROOT t = (f32[], s32[]) tuple(value, index)
    })";

// A fusion that reduces f32[7,50] and `position` of s32[7,50] with a reducer r.
class OrderOfTest : public ::testing::Test {
 protected:
  CombineOrder Of(absl::string_view reducer, absl::string_view position,
                  absl::string_view type = "f32", absl::string_view dimensions = "1",
                  absl::string_view result = "7") {
    module_ = ParseModule(absl::StrCat(
        "HloModule m\n", reducer, "\nf {\n x = ", type, "[7,50] parameter(0)\n", position,
        "\n v = ", type, "[] constant(0)\n z = s32[] constant(0)\n ROOT d = (", type, "[", result,
        "], s32[", result, "]) reduce(x, p, v, z), dimensions={", dimensions,
        "}, to_apply=r\n}\nENTRY e {\n y = ", type,
        "[7,50] parameter(0)\n q = s32[7,50] parameter(1)\n ROOT k = (", type, "[", result,
        "], s32[", result, "]) fusion(y", absl::StrContains(position, "parameter(1)") ? ", q" : "",
        "), kind=kInput, calls=f\n}\n"));
    if (module_ == nullptr) return CombineOrder::kAny;
    order_ = OrderOf(*module_->entry_computation()->root_instruction()->fused_expression_root());
    return order_.order;
  }

  std::unique_ptr<xla::HloModule> module_;
  ReductionOrder order_;
};

constexpr char kAlong[] = "p = s32[7,50] iota(), iota_dimension=1";

TEST_F(OrderOfTest, ArgMaxIsByPosition) {
  for (const char* direction : {"GT", "LT"}) {
    for (const char* type : {"f32", "f64", "f16", "bf16", "s32", "u8"}) {
      EXPECT_EQ(Of(JaxArgMinMax(type, direction), kAlong, type), CombineOrder::kByPosition) << type;
      EXPECT_EQ(order_.position, 1);
    }
  }
  EXPECT_EQ(Of(kBuilderArgMax, kAlong), CombineOrder::kByPosition);
}

TEST_F(OrderOfTest, PositionsMayBeBroadcastOrReshaped) {
  EXPECT_EQ(Of(JaxArgMinMax("f32", "GT"), R"(
      n = s32[50] iota(), iota_dimension=0
      p = s32[7,50] broadcast(n), dimensions={1})"),
            CombineOrder::kByPosition);
  EXPECT_EQ(Of(JaxArgMinMax("f32", "GT"), R"(
      n = s32[7,1,50] iota(), iota_dimension=2
      p = s32[7,50] reshape(n))"),
            CombineOrder::kByPosition);
}

// What looks like a position and is none must not decide which argument comes first.
TEST_F(OrderOfTest, OtherPositionsAreNot) {
  const std::string argmax = JaxArgMinMax("f32", "GT");
  EXPECT_EQ(Of(argmax, "p = s32[7,50] parameter(1)"), CombineOrder::kAscending);
  EXPECT_EQ(Of(argmax, "p = s32[7,50] iota(), iota_dimension=0"), CombineOrder::kAscending);
  EXPECT_EQ(Of(argmax, R"(
      n = s32[7,50] iota(), iota_dimension=1
      p = s32[7,50] negate(n))"),
            CombineOrder::kAscending);
  EXPECT_EQ(Of(argmax, R"(
      n = s32[7,50] iota(), iota_dimension=1
      p = s32[7,50] reverse(n), dimensions={1})"),
            CombineOrder::kAscending);
  // Of two dimensions, one position is in several rows.
  EXPECT_EQ(Of(argmax, kAlong, "f32", "0,1", ""), CombineOrder::kAscending);
}

TEST_F(OrderOfTest, ReducersThatMixElementsAreNot) {
  // The first value with the last position.
  EXPECT_EQ(Of(R"(
    r {
      a = f32[] parameter(0)
      i = s32[] parameter(1)
      b = f32[] parameter(2)
      j = s32[] parameter(3)
      ROOT t = (f32[], s32[]) tuple(a, j)
    })",
               kAlong),
            CombineOrder::kAscending);
  // The first that is not zero: a constant may hide any condition.
  EXPECT_EQ(Of(R"(
    r {
      a = f32[] parameter(0)
      i = s32[] parameter(1)
      b = f32[] parameter(2)
      j = s32[] parameter(3)
      z = f32[] constant(0)
      c = pred[] compare(a, z), direction=NE
      value = f32[] select(c, a, b)
      index = s32[] select(c, i, j)
      ROOT t = (f32[], s32[]) tuple(value, index)
    })",
               kAlong),
            CombineOrder::kAscending);
}

TEST_F(OrderOfTest, SeveralSumsAreInAnyOrder) {
  EXPECT_EQ(Of(R"(
    r {
      a = f32[] parameter(0)
      i = s32[] parameter(1)
      b = f32[] parameter(2)
      j = s32[] parameter(3)
      value = f32[] add(a, b)
      index = s32[] maximum(j, i)
      ROOT t = (f32[], s32[]) tuple(value, index)
    })",
               kAlong),
            CombineOrder::kAny);
}

// The kernel of a bare operation is shared by all of its text, which has no operands.
TEST_F(OrderOfTest, NothingOutsideOfAFusionIsRead) {
  module_ = ParseModule(absl::StrCat("HloModule m\n", JaxArgMinMax("f32", "GT"), R"(
    ENTRY e {
      x = f32[7,50] parameter(0)
      p = s32[7,50] iota(), iota_dimension=1
      v = f32[] constant(0)
      z = s32[] constant(0)
      ROOT d = (f32[7], s32[7]) reduce(x, p, v, z), dimensions={1}, to_apply=r
    })"));
  EXPECT_EQ(OrderOf(*module_->entry_computation()->root_instruction()).order,
            CombineOrder::kAscending);
}

}  // namespace
}  // namespace onexpu::compiler
