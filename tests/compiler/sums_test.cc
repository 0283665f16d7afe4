// Passes over sums: what they change, that the sum stays the same, and what they leave alone.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pjrt_core/compiler/passes/numerics/batch_sum.h"
#include "pjrt_core/compiler/passes/numerics/sum_splitter.h"
#include "pjrt_core/compiler/passes/onednn/inner_product_rewriter.h"
#include "tests/compiler/hlo_test_util.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace onexpu::compiler {
namespace {

using ::testing::ElementsAre;
using xla::HloOpcode;

constexpr absl::string_view kAdd = R"(HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
)";

std::unique_ptr<xla::HloModule> Module(absl::string_view entry) {
  return ParseModule(absl::StrCat(kAdd, entry));
}

constexpr absl::string_view kCrossEntropy = R"(ENTRY e {
  x = f32[80,100]{1,0} parameter(0)
  row = f32[80]{0} parameter(1)
  log = f32[80]{0} log(row)
  logs = f32[80,100]{1,0} broadcast(log), dimensions={0}
  terms = f32[80,100]{1,0} subtract(x, logs)
  zero = f32[] constant(0)
  ROOT sum = f32[] reduce(terms, zero), dimensions={0,1}, to_apply=add
})";

TEST(SumSplitterTest, ComputesAValueOfARowOnce) {
  const auto module = Module(kCrossEntropy);
  EXPECT_TRUE(Changes<SumSplitter>(*module));
  const auto sums = Instructions(*module, HloOpcode::kReduce);
  ASSERT_EQ(sums.size(), 2);
  EXPECT_THAT(sums[0]->dimensions(), ElementsAre(1));
  EXPECT_THAT(sums[1]->dimensions(), ElementsAre(0));
}

TEST(SumSplitterTest, TakesTheFastestDimensionForRows) {
  const auto module = Module(absl::StrReplaceAll(
      kCrossEntropy,
      {{"{1,0}", "{0,1}"}, {"f32[80]", "f32[100]"}, {"dimensions={0}\n", "dimensions={1}\n"}}));
  EXPECT_TRUE(Changes<SumSplitter>(*module));
  EXPECT_THAT(Instructions(*module, HloOpcode::kReduce)[0]->dimensions(), ElementsAre(0));
}

TEST(SumSplitterTest, LeavesOtherSums) {
  // The row's value is there already.
  EXPECT_FALSE(Changes<SumSplitter>(
      *Module(absl::StrReplaceAll(kCrossEntropy, {{"broadcast(log)", "broadcast(row)"}}))));
  // Short rows, and few.
  EXPECT_FALSE(
      Changes<SumSplitter>(*Module(absl::StrReplaceAll(kCrossEntropy, {{"100]", "20]"}}))));
  EXPECT_FALSE(Changes<SumSplitter>(*Module(absl::StrReplaceAll(kCrossEntropy, {{"[80", "[20"}}))));
  // The sums of rows would start from one, too.
  EXPECT_FALSE(Changes<SumSplitter>(
      *Module(absl::StrReplaceAll(kCrossEntropy, {{"constant(0)", "constant(1)"}}))));
}

constexpr absl::string_view kWeightGradient = R"(ENTRY e {
  x = f32[3,5,7]{2,1,0} parameter(0)
  y = f32[3,5,4]{2,1,0} parameter(1)
  product = f32[3,7,4]{2,1,0} dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}
  zero = f32[] constant(0)
  ROOT sum = f32[7,4]{1,0} reduce(product, zero), dimensions={0}, to_apply=add
})";

TEST(BatchSumTest, ContractsTheBatches) {
  const auto module = Module(kWeightGradient);
  EXPECT_TRUE(Changes<BatchSum>(*module));
  const auto* dot = module->entry_computation()->root_instruction();
  ASSERT_EQ(dot->opcode(), HloOpcode::kDot);
  EXPECT_EQ(dot->dot_dimension_numbers().lhs_batch_dimensions_size(), 0);
  EXPECT_EQ(dot->dot_dimension_numbers().lhs_contracting_dimensions_size(), 2);
}

TEST(BatchSumTest, KeepsTheBatchesThatAreNotAddedUp) {
  const auto module = Module(R"(ENTRY e {
  x = f32[2,3,5,7]{3,2,1,0} parameter(0)
  y = f32[3,4,5,2]{3,2,1,0} parameter(1)
  product = f32[3,2,7,4]{3,2,1,0} dot(x, y), lhs_batch_dims={1,0}, rhs_batch_dims={0,3}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
  zero = f32[] constant(0)
  ROOT sum = f32[3,7,4]{2,1,0} reduce(product, zero), dimensions={1}, to_apply=add
})");
  EXPECT_TRUE(Changes<BatchSum>(*module));
  const auto& numbers = module->entry_computation()->root_instruction()->dot_dimension_numbers();
  EXPECT_THAT(numbers.lhs_batch_dimensions(), ElementsAre(1));
  EXPECT_THAT(numbers.rhs_batch_dimensions(), ElementsAre(0));
  EXPECT_THAT(numbers.lhs_contracting_dimensions(), ElementsAre(0, 2));
  EXPECT_THAT(numbers.rhs_contracting_dimensions(), ElementsAre(3, 2));
}

// Of small whole numbers, so that 16 bits hold the products, too.
constexpr absl::string_view kWeightGradientOf16Bits = R"(ENTRY e {
  x = f32[3,5,7]{2,1,0} parameter(0)
  y = f32[3,5,4]{2,1,0} parameter(1)
  twice_x = f32[3,5,7]{2,1,0} add(x, x)
  twice_y = f32[3,5,4]{2,1,0} add(y, y)
  whole_x = f32[3,5,7]{2,1,0} floor(twice_x)
  whole_y = f32[3,5,4]{2,1,0} floor(twice_y)
  short_x = bf16[3,5,7]{2,1,0} convert(whole_x)
  short_y = bf16[3,5,4]{2,1,0} convert(whole_y)
  product = bf16[3,7,4]{2,1,0} dot(short_x, short_y), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}
  wide = f32[3,7,4]{2,1,0} convert(product)
  zero = f32[] constant(0)
  ROOT sum = f32[7,4]{1,0} reduce(wide, zero), dimensions={0}, to_apply=add
})";

TEST(BatchSumTest, AddsUpInTheBitsOfTheSum) {
  for (const absl::string_view type : {"bf16", "f16"}) {
    const auto module = Module(absl::StrReplaceAll(kWeightGradientOf16Bits, {{"bf16", type}}));
    EXPECT_TRUE(Changes<BatchSum>(*module));
    const auto* dot = module->entry_computation()->root_instruction();
    ASSERT_EQ(dot->opcode(), HloOpcode::kDot);
    EXPECT_EQ(dot->shape().element_type(), xla::F32);
    EXPECT_EQ(dot->dot_dimension_numbers().lhs_contracting_dimensions_size(), 2);
  }
}

TEST(BatchSumTest, LeavesWhatOthersReadIn16Bits) {
  for (const absl::string_view read : {"product", "wide"}) {
    EXPECT_FALSE(Changes<BatchSum>(*Module(absl::StrReplaceAll(
        kWeightGradientOf16Bits,
        {{"ROOT sum", "sum"},
         {"to_apply=add\n",
          absl::StrCat("to_apply=add\n  wanted = f32[3,7,4]{2,1,0} convert(", read,
                       ")\n  ROOT r = (f32[7,4], f32[3,7,4]) tuple(sum, wanted)\n")}}))));
  }
}

TEST(BatchSumTest, LeavesOtherSums) {
  // Over rows of the product.
  EXPECT_FALSE(Changes<BatchSum>(*Module(
      absl::StrReplaceAll(kWeightGradient, {{"ROOT sum = f32[7,4]", "ROOT sum = f32[3,4]"},
                                            {"dimensions={0}, to", "dimensions={1}, to"}}))));
  EXPECT_FALSE(Changes<BatchSum>(
      *Module(absl::StrReplaceAll(kWeightGradient, {{"constant(0)", "constant(1)"}}))));
  // The products have another user.
  EXPECT_FALSE(Changes<BatchSum>(*Module(absl::StrReplaceAll(
      kWeightGradient,
      {{"ROOT sum", "sum"},
       {"to_apply=add\n",
        "to_apply=add\n  ROOT r = (f32[7,4], f32[3,7,4]) tuple(sum, product)\n"}}))));
}

constexpr absl::string_view kInnerProduct = R"(ENTRY e {
  x = f32[400]{0} parameter(0)
  y = f32[400]{0} parameter(1)
  ROOT product = f32[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
})";

// A dot of two shapes, in which one dimension of each is contracted.
std::unique_ptr<xla::HloModule> Dot(absl::string_view lhs, int lhs_contracting,
                                    absl::string_view rhs, int rhs_contracting, int batches,
                                    absl::string_view result) {
  std::string numbers = absl::StrCat("lhs_contracting_dims={", lhs_contracting,
                                     "}, rhs_contracting_dims={", rhs_contracting, "}");
  if (batches > 0) absl::StrAppend(&numbers, ", lhs_batch_dims={0}, rhs_batch_dims={0}");
  return ParseModule(absl::StrCat("HloModule m\nENTRY e {\n  x = f32", lhs,
                                  " parameter(0)\n  y = f32", rhs, " parameter(1)\n  ROOT p = f32",
                                  result, " dot(x, y), ", numbers, "\n}"));
}

TEST(InnerProductRewriterTest, MakesASumOfProducts) {
  const auto module = ParseModule(absl::StrCat("HloModule m\n", kInnerProduct));
  EXPECT_TRUE(Changes<InnerProductRewriter>(*module));
  EXPECT_TRUE(Instructions(*module, HloOpcode::kDot).empty());
  ASSERT_EQ(Instructions(*module, HloOpcode::kReduce).size(), 1);
  EXPECT_EQ(Instructions(*module, HloOpcode::kReduce)[0]->operand(0)->opcode(),
            HloOpcode::kMultiply);
}

TEST(InnerProductRewriterTest, KeepsBatchesAndDimensionsOfOne) {
  EXPECT_TRUE(Changes<InnerProductRewriter>(*Dot("[3,400]", 1, "[3,400]", 1, 1, "[3]")));
  EXPECT_TRUE(Changes<InnerProductRewriter>(*Dot("[1,400]", 1, "[400,1]", 0, 0, "[1,1]")));
  EXPECT_TRUE(Changes<InnerProductRewriter>(*Dot("[400,1]", 0, "[400]", 0, 0, "[1]")));
  EXPECT_TRUE(Changes<InnerProductRewriter>(*Dot("[3,1,400]", 2, "[3,400,1]", 1, 1, "[3,1,1]")));
}

TEST(InnerProductRewriterTest, TakesAVectorAndFewColumns) {
  EXPECT_TRUE(Changes<InnerProductRewriter>(*Dot("[1100]", 0, "[1100,5]", 0, 0, "[5]")));
  EXPECT_TRUE(Changes<InnerProductRewriter>(*Dot("[1100,5]", 0, "[1100,1]", 0, 0, "[5,1]")));
  EXPECT_TRUE(Changes<InnerProductRewriter>(*Dot("[3,1,1100]", 2, "[3,1100,5]", 1, 1, "[3,1,5]")));
}

TEST(InnerProductRewriterTest, FindsColumnsBelowATranspose) {
  const auto module = ParseModule(R"(HloModule m
ENTRY e {
  x = f32[1100,5] parameter(0)
  y = f32[1100] parameter(1)
  rows = f32[5,1100] transpose(x), dimensions={1,0}
  ROOT p = f32[5] dot(rows, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})");
  EXPECT_TRUE(Changes<InnerProductRewriter>(*module));
}

TEST(InnerProductRewriterTest, AddsUpNarrowFloatsInF32) {
  const auto module = ParseModule(
      absl::StrCat("HloModule m\n", absl::StrReplaceAll(kInnerProduct, {{"f32", "bf16"}})));
  ASSERT_TRUE(InnerProductRewriter().Run(module.get()).value());
  EXPECT_EQ(Instructions(*module, HloOpcode::kReduce)[0]->shape().element_type(), xla::F32);
  EXPECT_EQ(module->entry_computation()->root_instruction()->shape().element_type(), xla::BF16);
}

TEST(InnerProductRewriterTest, LeavesOtherDots) {
  // Few terms; many columns; rows, for which there is a library; matrices.
  EXPECT_FALSE(Changes<InnerProductRewriter>(*Dot("[100]", 0, "[100]", 0, 0, "[]")));
  EXPECT_FALSE(Changes<InnerProductRewriter>(*Dot("[1100]", 0, "[1100,20]", 0, 0, "[20]")));
  EXPECT_FALSE(Changes<InnerProductRewriter>(*Dot("[5,1100]", 1, "[1100]", 0, 0, "[5]")));
  EXPECT_FALSE(Changes<InnerProductRewriter>(*Dot("[2,1100]", 1, "[1100,2]", 0, 0, "[2,2]")));
}

}  // namespace
}  // namespace onexpu::compiler
