// Which dots and convolutions become library calls, and in which form.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "pjrt_core/compiler/passes/onednn/library_call.h"
#include "tests/compiler/library_passes_test_util.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace onexpu::compiler {
namespace {

using program::ConvolutionKind;
using xla::HloOpcode;

TEST_F(LibraryPassesTest, ALargeDotIsAMatmul) {
  const auto calls = Run(R"(
    x = f32[1024,128] parameter(0)
    w = f32[128,256] parameter(1)
    ROOT d = f32[1024,256] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_TRUE(IsMatmul(*calls[0]));
  EXPECT_EQ(Count(HloOpcode::kDot), 0u);
}

TEST_F(LibraryPassesTest, ATinyDotStaysALoop) {
  EXPECT_TRUE(Run(R"(
    x = f32[4,8] parameter(0)
    w = f32[8,16] parameter(1)
    ROOT d = f32[4,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})")
                  .empty());
}

constexpr char kMediumDot[] = R"(
    x = f32[64,64] parameter(0)
    w = f32[64,64] parameter(1)
    ROOT d = f32[64,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})";

TEST_F(LibraryPassesTest, AMiddlingDotIsAKernelOnACpu) { EXPECT_TRUE(Run(kMediumDot).empty()); }

TEST_F(LibraryPassesTest, AMiddlingDotIsAMatmulOnAGpu) {
  gpu_schedules_ = true;
  EXPECT_EQ(Run(kMediumDot).size(), 1u);
}

// The kernel would read it column by column.
TEST_F(LibraryPassesTest, AMiddlingDotOfAnArgumentThatLiesOtherwiseIsAMatmul) {
  EXPECT_EQ(Run(R"(
    x = f32[64,256] parameter(0)
    w = f32[512,256] parameter(1)
    ROOT d = f32[64,512] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1})")
                .size(),
            1u);
  EXPECT_EQ(Run(R"(
    x = f32[64,256] parameter(0)
    w = f32[512,256] parameter(1)
    t = f32[256,512] transpose(w), dimensions={1,0}
    ROOT d = f32[64,512] dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={0})")
                .size(),
            1u);
}

TEST_F(LibraryPassesTest, TypesThatNoLibraryHasStayLoops) {
  for (const char* type : {"f64", "s32", "c64", "u8"}) {
    EXPECT_TRUE(Run(absl::StrCat("x = ", type, "[1024,128] parameter(0)\n w = ", type,
                                 "[128,256] parameter(1)\n ROOT d = ", type,
                                 "[1024,256] dot(x, w), lhs_contracting_dims={1}, "
                                 "rhs_contracting_dims={0}"))
                    .empty())
        << type;
  }
}

TEST_F(LibraryPassesTest, HalfPrecisionIsWidenedWhereThereAreNoPrimitives) {
  const auto calls = Run(R"(
    x = f16[1024,128] parameter(0)
    w = f16[128,256] parameter(1)
    ROOT d = f16[1024,256] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]->operand(0)->shape().element_type(), xla::F32);
  EXPECT_EQ(module_->entry_computation()->root_instruction()->shape().element_type(), xla::F16);
}

// A kernel of blocks would convert element by element.
TEST_F(LibraryPassesTest, AMiddlingDotOfHalfPrecisionIsComputedWide) {
  EXPECT_TRUE(Run(R"(
    x = f16[64,64] parameter(0)
    w = f16[64,64] parameter(1)
    t = f16[64,64] transpose(w), dimensions={1,0}
    ROOT d = f16[64,64] dot(x, t), lhs_contracting_dims={1}, rhs_contracting_dims={0})")
                  .empty());
  const xla::HloInstruction* root = module_->entry_computation()->root_instruction();
  EXPECT_EQ(root->shape().element_type(), xla::F16);
  ASSERT_EQ(root->opcode(), HloOpcode::kConvert);
  const xla::HloInstruction* dot = root->operand(0);
  ASSERT_EQ(dot->opcode(), HloOpcode::kDot);
  EXPECT_EQ(dot->operand(0)->opcode(), HloOpcode::kConvert);
  EXPECT_EQ(dot->operand(0)->shape().element_type(), xla::F32);
  // The conversion is part of what computes the elements.
  ASSERT_EQ(dot->operand(1)->opcode(), HloOpcode::kTranspose);
  EXPECT_EQ(dot->operand(1)->operand(0)->opcode(), HloOpcode::kConvert);
}

TEST_F(LibraryPassesTest, AMiddlingDotStaysNarrowWhereThereArePrimitives) {
  EXPECT_TRUE(Run(R"(
    x = bf16[64,64] parameter(0)
    w = bf16[64,64] parameter(1)
    ROOT d = bf16[64,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})")
                  .empty());
  EXPECT_EQ(Count(HloOpcode::kConvert), 0u);
}

struct ConvolutionCase {
  const char* name;
  const char* body;
  ConvolutionKind kind;
  // Of the forward convolution, first spatial dimension.
  int64_t stride, padding_low, padding_high, dilation;
};

class ConvolutionFormTest : public LibraryPassesTest,
                            public ::testing::WithParamInterface<ConvolutionCase> {};

TEST_P(ConvolutionFormTest, IsRecognised) {
  const auto calls = Run(GetParam().body);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(ConvolutionConfigOf(*calls[0])->kind, GetParam().kind);
  const xla::WindowDimension& dimension = calls[0]->window().dimensions(0);
  EXPECT_EQ(dimension.stride(), GetParam().stride);
  EXPECT_EQ(dimension.padding_low(), GetParam().padding_low);
  EXPECT_EQ(dimension.padding_high(), GetParam().padding_high);
  EXPECT_EQ(dimension.window_dilation(), GetParam().dilation);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, ConvolutionFormTest,
    ::testing::Values(
        ConvolutionCase{"Forward", R"(
            x = f32[2,9,3] parameter(0)
            w = f32[3,3,4] parameter(1)
            ROOT c = f32[2,4,4] convolution(x, w), window={size=3 stride=2 pad=1_0 rhs_dilate=1},
              dim_labels=b0f_0io->b0f)",
                        ConvolutionKind::Forward, 2, 1, 0, 1},
        // The gradient of a convolution with stride 2 over 9 elements, kernel 3, padding 1 and 1.
        ConvolutionCase{"SourceGradient", R"(
            g = f32[2,5,4] parameter(0)
            w = f32[3,3,4] parameter(1)
            r = f32[3,3,4] reverse(w), dimensions={0}
            ROOT c = f32[2,9,3] convolution(g, r), window={size=3 pad=1_1 lhs_dilate=2},
              dim_labels=b0f_0oi->b0f)",
                        ConvolutionKind::BackwardData, 2, 1, 1, 1},
        ConvolutionCase{"SourceGradientReversedByTheWindow", R"(
            g = f32[2,5,4] parameter(0)
            w = f32[3,3,4] parameter(1)
            ROOT c = f32[2,9,3] convolution(g, w), window={size=3 pad=1_1 lhs_dilate=2 rhs_reversal=1},
              dim_labels=b0f_0oi->b0f)",
                        ConvolutionKind::BackwardData, 2, 1, 1, 1},
        ConvolutionCase{"WeightGradient", R"(
            x = f32[2,9,3] parameter(0)
            g = f32[2,5,4] parameter(1)
            ROOT c = f32[3,3,4] convolution(x, g), window={size=5 pad=1_1 rhs_dilate=2},
              dim_labels=f0b_i0o->0bf)",
                        ConvolutionKind::BackwardWeights, 2, 1, 1, 1},
        // Of 2 positions and a kernel of 3: what comes out is larger than what runs over it.
        ConvolutionCase{"WeightGradientOfASmallMap", R"(
            x = f32[2,2,3] parameter(0)
            g = f32[2,2,4] parameter(1)
            ROOT c = f32[3,3,4] convolution(x, g), window={size=2 pad=1_1},
              dim_labels=f0b_i0o->0bf)",
                        ConvolutionKind::BackwardWeights, 1, 1, 1, 1},
        // Negative padding is cut off the source first.
        ConvolutionCase{"NegativePadding", R"(
            x = f32[2,9,3] parameter(0)
            w = f32[3,3,4] parameter(1)
            ROOT c = f32[2,5,4] convolution(x, w), window={size=3 pad=-1_-1}, dim_labels=b0f_0io->b0f)",
                        ConvolutionKind::Forward, 1, 0, 0, 1}),
    [](const auto& info) { return std::string(info.param.name); });

constexpr char kIntegerDot[] = R"(
    x = s8[1024,128] parameter(0)
    w = s8[128,256] parameter(1)
    d = s32[1024,256] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    two = s32[] constant(2)
    twos = s32[1024,256] broadcast(two), dimensions={}
    ROOT m = s32[1024,256] multiply(d, twos))";

TEST_F(LibraryPassesTest, AnIntegerDotIsAMatmulWithoutAnEpilogue) {
  has_s8_ = true;
  const auto calls = Run(kIntegerDot);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]->shape().element_type(), xla::S32);
  EXPECT_EQ(MatmulEpilogue(*calls[0]).alpha, 1.f);
  EXPECT_EQ(Count(HloOpcode::kMultiply), 1u);
}

TEST_F(LibraryPassesTest, AnIntegerDotStaysALoopWhereSumsWouldSaturate) {
  EXPECT_TRUE(Run(kIntegerDot).empty());
}

TEST_F(LibraryPassesTest, OnlyForwardConvolutionsOfIntegersAreCalls) {
  has_s8_ = true;
  EXPECT_EQ(Run(R"(
    x = s8[2,9,16] parameter(0)
    w = s8[3,16,16] parameter(1)
    ROOT c = s32[2,7,16] convolution(x, w), window={size=3}, dim_labels=b0f_0io->b0f)")
                .size(),
            1u);
  EXPECT_TRUE(Run(R"(
    x = s8[2,9,16] parameter(0)
    w = s8[3,16,16] parameter(1)
    ROOT c = s32[2,17,16] convolution(x, w), window={size=3 pad=1_1 lhs_dilate=2},
      dim_labels=b0f_0io->b0f)")
                  .empty());
}

TEST_F(LibraryPassesTest, IntegerConvolutionStaysALoop) {
  EXPECT_TRUE(Run(R"(
    x = s32[2,9,3] parameter(0)
    w = s32[3,3,4] parameter(1)
    ROOT c = s32[2,7,4] convolution(x, w), window={size=3}, dim_labels=b0f_0io->b0f)")
                  .empty());
  EXPECT_EQ(Count(HloOpcode::kConvolution), 1u);
}

}  // namespace
}  // namespace onexpu::compiler
