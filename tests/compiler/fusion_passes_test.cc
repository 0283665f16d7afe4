// Which fusions become one kernel, and which share one.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pjrt_core/compiler/codegen/kernel/computation_text.h"
#include "pjrt_core/compiler/passes/fusion/fusion_parameter_order.h"
#include "pjrt_core/compiler/passes/fusion/producer_fusion.h"
#include "pjrt_core/compiler/passes/fusion/row_fusion.h"
#include "pjrt_core/compiler/passes/fusion/transform_fusion.h"
#include "pjrt_core/compiler/passes/numerics/commutative_operand_order.h"
#include "pjrt_core/compiler/passes/support/alias_info.h"
#include "tests/compiler/hlo_test_util.h"
#include "xla/array2d.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_comparison.h"
#include "xla/literal_util.h"

namespace onexpu::compiler {
namespace {

using ::testing::ElementsAre;
using xla::HloInstruction;
using xla::HloOpcode;

std::vector<HloInstruction*> Fusions(xla::HloModule& module) {
  return Instructions(module, HloOpcode::kFusion);
}

TEST(FusionParameterOrderTest, TheSameWorkHasTheSameText) {
  const auto module = ParseModule(R"(
HloModule m
first { a = f32[8] parameter(0)
  b = f32[] parameter(1)
  w = f32[8] broadcast(b), dimensions={}
  ROOT r = f32[8] subtract(a, w) }
second { b = f32[] parameter(0)
  unused = f32[2] parameter(1)
  a = f32[8] parameter(2)
  w = f32[8] broadcast(b), dimensions={}
  ROOT r = f32[8] subtract(a, w) }
third { b = f32[] parameter(0)
  a = f32[8] parameter(1)
  w = f32[8] broadcast(b), dimensions={}
  ROOT r = f32[8] subtract(a, w) }
ENTRY e {
  x = f32[8] parameter(0)
  s = f32[] parameter(1)
  t = f32[2] parameter(2)
  one = f32[8] fusion(x, s), kind=kLoop, calls=first
  two = f32[8] fusion(s, t, one), kind=kLoop, calls=second
  ROOT three = f32[8] fusion(s, two), kind=kLoop, calls=third, metadata={op_name="kept"}
})");
  const xla::Literal x = xla::LiteralUtil::CreateR1<float>({1, 2, 3, 4, 5, 6, 7, 8});
  const xla::Literal s = xla::LiteralUtil::CreateR0<float>(0.5);
  const xla::Literal t = xla::LiteralUtil::CreateR1<float>({9, 9});
  const xla::Literal expected = Evaluate(*module, {&x, &s, &t});
  ASSERT_NE(ComputationText(*Fusions(*module)[0]), ComputationText(*Fusions(*module)[2]));

  const auto changed = FusionParameterOrder().Run(module.get());
  ASSERT_TRUE(changed.ok() && *changed) << changed.status();
  const std::vector<HloInstruction*> fusions = Fusions(*module);
  EXPECT_EQ(ComputationText(*fusions[0]), ComputationText(*fusions[2]));
  EXPECT_EQ(fusions[2]->metadata().op_name(), "kept");
  // What is not used comes last.
  EXPECT_EQ(fusions[1]->operand(2)->name(), "t");
  EXPECT_EQ(Evaluate(*module, {&x, &s, &t}), expected);
  EXPECT_FALSE(FusionParameterOrder().Run(module.get()).value());
}

TEST(CommutativeOperandOrderTest, ProductsTheOtherWayRoundHaveTheSameText) {
  const auto module = ParseModule(R"(
HloModule m
first { a = f32[8] parameter(0)
  b = f32[8] parameter(1)
  n = f32[8] negate(b)
  p = f32[8] multiply(a, n)
  ROOT r = f32[8] subtract(p, a) }
second { a = f32[8] parameter(0)
  b = f32[8] parameter(1)
  n = f32[8] negate(b)
  p = f32[8] multiply(n, a)
  ROOT r = f32[8] subtract(p, a) }
third { a = f32[8] parameter(0)
  b = f32[8] parameter(1)
  n = f32[8] negate(b)
  p = f32[8] multiply(n, a)
  ROOT r = f32[8] subtract(a, p) }
ENTRY e {
  x = f32[8] parameter(0)
  y = f32[8] parameter(1)
  one = f32[8] fusion(x, y), kind=kLoop, calls=first
  two = f32[8] fusion(one, y), kind=kLoop, calls=second
  ROOT three = f32[8] fusion(two, y), kind=kLoop, calls=third
})");
  const xla::Literal x = xla::LiteralUtil::CreateR1<float>({1, 2, 3, 4, 5, 6, 7, 8});
  const xla::Literal y = xla::LiteralUtil::CreateR1<float>({3, 1, 4, 1, 5, 9, 2, 6});
  const xla::Literal expected = Evaluate(*module, {&x, &y});
  ASSERT_NE(ComputationText(*Fusions(*module)[0]), ComputationText(*Fusions(*module)[1]));

  const auto changed = CommutativeOperandOrder().Run(module.get());
  ASSERT_TRUE(changed.ok() && *changed) << changed.status();
  const std::vector<HloInstruction*> fusions = Fusions(*module);
  EXPECT_EQ(ComputationText(*fusions[0]), ComputationText(*fusions[1]));
  // A difference is no sum.
  EXPECT_NE(ComputationText(*fusions[1]), ComputationText(*fusions[2]));
  EXPECT_EQ(Evaluate(*module, {&x, &y}), expected);
  EXPECT_FALSE(CommutativeOperandOrder().Run(module.get()).value());
}

// The operands of each transform, which share a product of x and y.
std::vector<int64_t> OperandsOfTransforms(int64_t transforms, int64_t lines) {
  const std::string shape = absl::StrCat("c64[", lines, ",128]");
  std::string text =
      absl::StrCat("HloModule m\nENTRY e {\n  x = ", shape, " parameter(0)\n  y = ", shape,
                   " parameter(1)\n  shared = ", shape, " multiply(x, y)\n");
  std::string names, shapes;
  for (int64_t i = 0; i < transforms; ++i) {
    absl::StrAppend(&text, "  c", i, " = c64[] constant((", i, ", 1))\n  w", i, " = ", shape,
                    " broadcast(c", i, "), dimensions={}\n  m", i, " = ", shape,
                    " multiply(shared, w", i, ")\n  t", i, " = ", shape, " fft(m", i,
                    "), fft_type=FFT, fft_length={128}\n");
    absl::StrAppend(&names, i == 0 ? "t" : ", t", i);
    absl::StrAppend(&shapes, i == 0 ? "" : ", ", shape);
  }
  const auto module =
      ParseModule(absl::StrCat(text, "  ROOT all = (", shapes, ") tuple(", names, ")\n}"));
  const InPlaceAliasInfo alias_info;
  const auto run = ProducerFusion(&alias_info).Run(module.get());
  EXPECT_TRUE(run.ok()) << run.status();
  std::vector<int64_t> operands;
  for (const HloInstruction* fusion : Fusions(*module)) {
    if (fusion->fused_expression_root()->opcode() == HloOpcode::kFft)
      operands.push_back(fusion->operand_count());
  }
  return operands;
}

TEST(ProducerFusionTest, WhatManyTransformsReadIsComputedOnce) {
  EXPECT_THAT(OperandsOfTransforms(/*transforms=*/2, /*lines=*/16), ElementsAre(2, 2));
  EXPECT_THAT(OperandsOfTransforms(/*transforms=*/3, /*lines=*/16), ElementsAre(1, 1, 1));
  // Of little, a launch costs more.
  EXPECT_THAT(OperandsOfTransforms(/*transforms=*/3, /*lines=*/8), ElementsAre(2, 2, 2));
}

// Whether a copy that makes the 16 columns of the right factor neighbours stays outside of the
// dot's kernel.
bool CopyStaysApart(int64_t rows) {
  const auto module = ParseModule(
      absl::StrCat(R"(
HloModule m
ENTRY e {
  x = f32[)",
                   rows, R"(,32]{1,0} parameter(0)
  y = f32[16,32]{1,0} parameter(1)
  c = f32[16,32]{0,1} copy(y)
  ROOT d = f32[)",
                   rows, R"(,16]{1,0} dot(x, c), lhs_contracting_dims={1}, rhs_contracting_dims={1}
})"));
  const InPlaceAliasInfo alias_info;
  EXPECT_TRUE(ProducerFusion(&alias_info).Run(module.get()).ok());
  const std::vector<HloInstruction*> copies = Instructions(*module, HloOpcode::kCopy);
  return copies.size() == 1 && copies[0]->parent() == module->entry_computation();
}

TEST(ProducerFusionTest, ColumnsOfLargerDotsAreNotGathered) {
  EXPECT_TRUE(CopyStaysApart(/*rows=*/1024));
  // Of few products, a launch costs more.
  EXPECT_FALSE(CopyStaysApart(/*rows=*/128));
}

// The conversions that stay outside of the dot's kernel: of x, then of the right factor.
std::vector<bool> ConversionsApart(absl::string_view given, absl::string_view computed) {
  constexpr absl::string_view kText = R"(
HloModule m
ENTRY e {
  x = $given[256,128]{1,0} parameter(0)
  y = $given[128,64]{1,0} parameter(1)
  cx = $computed[256,128]{1,0} convert(x)
  cy = $computed[128,64]{1,0} convert(y)
  ROOT d = $computed[256,64]{1,0} dot(cx, cy), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
  const auto module =
      ParseModule(absl::StrReplaceAll(kText, {{"$given", given}, {"$computed", computed}}));
  const InPlaceAliasInfo alias_info;
  EXPECT_TRUE(ProducerFusion(&alias_info).Run(module.get()).ok());
  const HloInstruction* root = module->entry_computation()->root_instruction();
  std::vector<bool> apart;
  for (const char* argument : {"x", "y"}) {
    apart.push_back(!absl::c_any_of(root->operands(), [&](const HloInstruction* operand) {
      return operand->name() == argument;
    }));
  }
  return apart;
}

TEST(ProducerFusionTest, ADotRepeatsNoRounding) {
  EXPECT_THAT(ConversionsApart("f32", "bf16"), ElementsAre(true, true));
}

TEST(ProducerFusionTest, ADotWidensItsColumnsAlone) {
  EXPECT_THAT(ConversionsApart("bf16", "f32"), ElementsAre(true, false));
}

// Named fusions of x, y or of each other: each a transform of its operand times a constant, the
// inverse one when its name says so.
std::unique_ptr<xla::HloModule> Transforms(
    const std::vector<std::pair<absl::string_view, absl::string_view>>& of, int64_t lines = 2) {
  const std::string shape = absl::StrCat("c64[", lines, ",4]");
  std::string text = "HloModule m\n";
  std::string entry =
      absl::StrCat("ENTRY e {\n  x = ", shape, " parameter(0)\n  y = ", shape, " parameter(1)\n");
  std::string names, shapes;
  for (const auto& [name, operand] : of) {
    absl::StrAppend(&text, "computation_", name, " { p = ", shape, " parameter(0)\n  c = c64[] ",
                    "constant((", names.size() + 1, ", 1))\n  w = ", shape,
                    " broadcast(c), dimensions={}\n  m = ", shape,
                    " multiply(p, w)\n  ROOT r = ", shape,
                    " fft(m), fft_type=", absl::StartsWith(name, "inverse") ? "IFFT" : "FFT",
                    ", fft_length={4} }\n");
    absl::StrAppend(&entry, "  ", name, " = ", shape, " fusion(", operand,
                    "), kind=kLoop, calls=computation_", name, "\n");
    absl::StrAppend(&names, names.empty() ? "" : ", ", name);
    absl::StrAppend(&shapes, shapes.empty() ? "" : ", ", shape);
  }
  return ParseModule(
      absl::StrCat(text, entry, "  ROOT all = (", shapes, ") tuple(", names, ")\n}"));
}

// How many transforms each kernel has.
std::vector<int64_t> SizesAfterFusion(xla::HloModule& module) {
  const auto run = TransformFusion().Run(&module);
  EXPECT_TRUE(run.ok()) << run.status();
  std::vector<int64_t> sizes;
  for (const HloInstruction* fusion : Fusions(module)) {
    sizes.push_back(fusion->shape().IsTuple() ? fusion->shape().tuple_shapes().size() : 1);
  }
  return sizes;
}

TEST(TransformFusionTest, WhatIsAlikeAndApartIsOneKernel) {
  const auto module = Transforms({{"a", "x"}, {"b", "y"}, {"inverse", "x"}, {"c", "x"}});
  const xla::Literal x = xla::LiteralUtil::CreateR2<xla::complex64>(
      {{{1, 2}, {3, -1}, {0, 4}, {2, 2}}, {{5, 0}, {1, 1}, {-2, 3}, {0, 1}}});
  const xla::Literal y = xla::LiteralUtil::CreateR2<xla::complex64>(
      {{{2, 0}, {0, 1}, {1, 4}, {7, 2}}, {{0, 0}, {3, 1}, {-1, 3}, {4, 1}}});
  const xla::Literal expected = Evaluate(*module, {&x, &y});
  EXPECT_THAT(SizesAfterFusion(*module), ElementsAre(3, 1));
  EXPECT_TRUE(xla::literal_comparison::Equal(expected, Evaluate(*module, {&x, &y})).ok());
}

TEST(TransformFusionTest, WhatWaitsIsNot) {
  EXPECT_THAT(SizesAfterFusion(*Transforms({{"a", "x"}, {"b", "a"}})), ElementsAre(1, 1));
  // b waits for one of the inverse transforms, and for both when they are one kernel: for a, too.
  EXPECT_THAT(SizesAfterFusion(*Transforms(
                  {{"a", "x"}, {"inverse_c", "a"}, {"inverse_d", "y"}, {"b", "inverse_d"}})),
              ElementsAre(1, 2, 1));
}

TEST(TransformFusionTest, LargeOnesStayApart) {
  EXPECT_THAT(SizesAfterFusion(*Transforms({{"a", "x"}, {"b", "y"}}, /*lines=*/65536)),
              ElementsAre(1, 1));
}

// The softmax of rows, as fusion leaves it: the greatest element, the exponentials and their sum,
// the quotient. `entry` calls these.
std::unique_ptr<xla::HloModule> Softmax(absl::string_view rows, absl::string_view length,
                                        absl::string_view entry) {
  constexpr absl::string_view kText = R"(
HloModule m
maximum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT m = f32[] maximum(a, b) }
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
greatest {
  p = f32[$rows,$length]{1,0} parameter(0)
  c = f32[] constant(-inf)
  ROOT r = f32[$rows]{0} reduce(p, c), dimensions={1}, to_apply=maximum
}
sum {
  p = f32[$rows,$length]{1,0} parameter(0)
  g = f32[$rows]{0} parameter(1)
  of = f32[$rows,$length]{1,0} broadcast(g), dimensions={0}
  d = f32[$rows,$length]{1,0} subtract(p, of)
  e = f32[$rows,$length]{1,0} exponential(d)
  c = f32[] constant(0)
  ROOT r = f32[$rows]{0} reduce(e, c), dimensions={1}, to_apply=add
}
quotient {
  p = f32[$rows,$length]{1,0} parameter(0)
  g = f32[$rows]{0} parameter(1)
  s = f32[$rows]{0} parameter(2)
  of = f32[$rows,$length]{1,0} broadcast(g), dimensions={0}
  d = f32[$rows,$length]{1,0} subtract(p, of)
  e = f32[$rows,$length]{1,0} exponential(d)
  b = f32[$rows,$length]{1,0} broadcast(s), dimensions={0}
  ROOT q = f32[$rows,$length]{1,0} divide(e, b)
}
ENTRY e {
  x = f32[$rows,$length]{1,0} parameter(0)
$entry
})";
  return ParseModule(absl::StrReplaceAll(absl::StrReplaceAll(kText, {{"$entry", entry}}),
                                         {{"$rows", rows}, {"$length", length}}));
}

constexpr absl::string_view kOneSoftmax = R"(
  g = f32[$rows]{0} fusion(x), kind=kInput, calls=greatest
  s = f32[$rows]{0} fusion(x, g), kind=kInput, calls=sum
  ROOT q = f32[$rows,$length]{1,0} fusion(x, g, s), kind=kLoop, calls=quotient)";

Target CpuTarget() {
  Target target;
  target.compute_units = 2;
  target.local_memory_bytes = 32 << 10;
  target.sub_group_sizes = {4, 8, 16, 32, 64};
  return target;
}

int64_t KernelsAfterRowFusion(xla::HloModule& module, const Target& target = CpuTarget()) {
  const auto run = RowFusion(target).Run(&module);
  EXPECT_TRUE(run.ok()) << run.status();
  return Fusions(module).size();
}

TEST(RowFusionTest, ReductionsOfARowAndWhatFollowsAreOneKernel) {
  const auto module = Softmax("512", "64", kOneSoftmax);
  xla::Array2D<float> values(512, 64);
  values.FillIota(-3);
  const xla::Literal x = xla::LiteralUtil::CreateR2FromArray2D(values);
  const xla::Literal expected = Evaluate(*module, {&x});
  EXPECT_EQ(KernelsAfterRowFusion(*module), 1);
  EXPECT_EQ(Evaluate(*module, {&x}), expected);
}

// Rows divided by their sums, which a bitcast to `view` and a broadcast along `dimensions` bring
// back; the kernels.
int64_t KernelsOfQuotients(absl::string_view rows, absl::string_view sums, absl::string_view view,
                           absl::string_view dimensions) {
  constexpr absl::string_view kText = R"(
HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
sum {
  p = $rows parameter(0)
  c = f32[] constant(0)
  ROOT r = $sums reduce(p, c), dimensions={2}, to_apply=add
}
quotient {
  p = $rows parameter(0)
  s = $sums parameter(1)
  v = $view bitcast(s)
  b = $rows broadcast(v), dimensions={$dimensions}
  ROOT q = $rows divide(p, b)
}
ENTRY e {
  x = $rows parameter(0)
  s = $sums fusion(x), kind=kInput, calls=sum
  ROOT q = $rows fusion(x, s), kind=kLoop, calls=quotient
})";
  const auto module = ParseModule(absl::StrReplaceAll(
      kText, {{"$rows", rows}, {"$sums", sums}, {"$view", view}, {"$dimensions", dimensions}}));
  return KernelsAfterRowFusion(*module);
}

// As where a batch has one element.
TEST(RowFusionTest, ADegenerateDimensionOnTheWayChangesNothing) {
  EXPECT_EQ(KernelsOfQuotients("f32[1,512,64]{2,1,0}", "f32[1,512]{1,0}", "f32[512]{0}", "1"), 1);
}

// Read the other way round, the sums belong to other rows.
TEST(RowFusionTest, SumsInAnotherOrderStayApart) {
  EXPECT_EQ(KernelsOfQuotients("f32[64,64,64]{2,1,0}", "f32[64,64]{1,0}", "f32[64,64]{0,1}", "0,1"),
            2);
}

TEST(RowFusionTest, RowsThatAreTooShortStayApart) {
  EXPECT_EQ(KernelsAfterRowFusion(*Softmax("8192", "4", kOneSoftmax)), 3);
}

TEST(RowFusionTest, FewRowsAreOneKernelToo) {
  EXPECT_EQ(KernelsAfterRowFusion(*Softmax("8", "64", kOneSoftmax)), 1);
  EXPECT_EQ(KernelsAfterRowFusion(*Softmax("7", "64", kOneSoftmax)), 3);
}

TEST(RowFusionTest, ACpuWithoutSubGroupsOfOneVectorHasRowsApart) {
  Target target = CpuTarget();
  target.sub_group_sizes = {8};
  EXPECT_EQ(KernelsAfterRowFusion(*Softmax("512", "64", kOneSoftmax), target), 3);
}

TEST(RowFusionTest, ReductionsThatOthersReadStayApart) {
  const auto module = Softmax("512", "64", R"(
  g = f32[$rows]{0} fusion(x), kind=kInput, calls=greatest
  s = f32[$rows]{0} fusion(x, g), kind=kInput, calls=sum
  q = f32[$rows,$length]{1,0} fusion(x, g, s), kind=kLoop, calls=quotient
  ROOT t = (f32[$rows,$length]{1,0}, f32[$rows]{0}) tuple(q, s))");
  EXPECT_EQ(KernelsAfterRowFusion(*module), 3);
}

}  // namespace
}  // namespace onexpu::compiler
