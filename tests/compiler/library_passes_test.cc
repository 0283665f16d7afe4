// Which dots and convolutions become library calls, and in which form.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "pjrt_core/compiler/passes/convolution_rewriter.h"
#include "pjrt_core/compiler/passes/epilogue_fusion.h"
#include "pjrt_core/compiler/passes/library_call.h"
#include "pjrt_core/compiler/passes/matmul_rewriter.h"
#include "tests/compiler/hlo_test_util.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"

namespace onexpu::compiler {
namespace {

using program::Activation;
using program::ConvolutionKind;
using xla::HloInstruction;
using xla::HloOpcode;

// Runs the library passes on a module of one entry computation; gives the library calls.
class LibraryPassesTest : public ::testing::Test {
 protected:
  std::vector<HloInstruction*> Run(absl::string_view body) {
    module_ = ParseModule(absl::StrCat("HloModule m\nENTRY e {\n", body, "\n}\n"));
    if (module_ == nullptr) return {};
    const Target target = MakeTarget();
    EXPECT_TRUE(MatmulRewriter(target).Run(module_.get()).ok());
    EXPECT_TRUE(ConvolutionRewriter(target).Run(module_.get()).ok());
    EXPECT_TRUE(EpilogueFusion(target, /*layout_sensitive=*/false).Run(module_.get()).ok());
    EXPECT_TRUE(xla::HloDCE().Run(module_.get()).ok());
    return Instructions(*module_, HloOpcode::kCustomCall);
  }
  // And what runs again when there are layouts: those of the text.
  std::vector<HloInstruction*> RunWithLayouts(absl::string_view body) {
    Run(body);
    const Target target = MakeTarget();
    EXPECT_TRUE(EpilogueFusion(target, /*layout_sensitive=*/true).Run(module_.get()).ok());
    EXPECT_TRUE(xla::HloDCE().Run(module_.get()).ok());
    return Instructions(*module_, HloOpcode::kCustomCall);
  }
  Target MakeTarget() const {
    Target target;
    target.has_bf16 = true;
    target.gpu_schedules = gpu_schedules_;
    return target;
  }
  size_t Count(HloOpcode opcode) { return Instructions(*module_, opcode).size(); }

  std::unique_ptr<xla::HloModule> module_;
  bool gpu_schedules_ = false;
};

Epilogue MatmulEpilogue(const HloInstruction& call) { return MatmulConfigOf(call)->epilogue; }

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

constexpr char kMiddlingDot[] = R"(
    x = f32[64,64] parameter(0)
    w = f32[64,64] parameter(1)
    ROOT d = f32[64,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0})";

TEST_F(LibraryPassesTest, AMiddlingDotIsAKernelOnACpu) { EXPECT_TRUE(Run(kMiddlingDot).empty()); }

TEST_F(LibraryPassesTest, AMiddlingDotIsAMatmulOnAGpu) {
  gpu_schedules_ = true;
  EXPECT_EQ(Run(kMiddlingDot).size(), 1u);
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

TEST_F(LibraryPassesTest, ScaleBiasAndReluBehindAReshapeJoinTheMatmul) {
  gpu_schedules_ = true;
  const auto calls = Run(R"(
    x = f32[1024,128] parameter(0)
    w = f32[128,256] parameter(1)
    b = f32[256] parameter(2)
    d = f32[1024,256] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    half = f32[] constant(0.5)
    halves = f32[1024,256] broadcast(half), dimensions={}
    m = f32[1024,256] multiply(d, halves)
    r = f32[64,16,256] reshape(m)
    bb = f32[64,16,256] broadcast(b), dimensions={2}
    a = f32[64,16,256] add(r, bb)
    zero = f32[] constant(0)
    zeros = f32[64,16,256] broadcast(zero), dimensions={}
    ROOT relu = f32[64,16,256] maximum(zeros, a))");
  ASSERT_EQ(calls.size(), 1u);
  const Epilogue epilogue = MatmulEpilogue(*calls[0]);
  EXPECT_EQ(epilogue.alpha, 0.5f);
  EXPECT_TRUE(epilogue.has_bias);
  EXPECT_EQ(epilogue.activation, Activation::Relu);
  EXPECT_EQ(module_->entry_computation()->root_instruction()->opcode(), HloOpcode::kReshape);
}

// Of `rows` rows, with a scale and a bias.
std::string ScaledDot(int64_t rows) {
  return absl::Substitute(R"(
    x = f32[$0,128] parameter(0)
    w = f32[128,256] parameter(1)
    b = f32[256] parameter(2)
    d = f32[$0,256] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    half = f32[] constant(0.5)
    halves = f32[$0,256] broadcast(half), dimensions={}
    m = f32[$0,256] multiply(d, halves)
    bb = f32[$0,256] broadcast(b), dimensions={1}
    ROOT a = f32[$0,256] add(m, bb))",
                          rows);
}

TEST_F(LibraryPassesTest, AMiddlingProductOnACpuTakesItsScaleAlone) {
  const auto calls = Run(ScaledDot(1024));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(MatmulEpilogue(*calls[0]).alpha, 0.5f);
  EXPECT_FALSE(MatmulEpilogue(*calls[0]).has_bias);
  EXPECT_EQ(Count(HloOpcode::kAdd), 1u);
}

TEST_F(LibraryPassesTest, ALargeProductOnACpuTakesItsBias) {
  const auto calls = Run(ScaledDot(8192));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_TRUE(MatmulEpilogue(*calls[0]).has_bias);
}

TEST_F(LibraryPassesTest, AValueThatOthersReadStays) {
  gpu_schedules_ = true;
  const auto calls = Run(R"(
    x = f32[1024,128] parameter(0)
    w = f32[128,256] parameter(1)
    d = f32[1024,256] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    zero = f32[] constant(0)
    zeros = f32[1024,256] broadcast(zero), dimensions={}
    relu = f32[1024,256] maximum(d, zeros)
    ROOT t = (f32[1024,256], f32[1024,256]) tuple(d, relu))");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(MatmulEpilogue(*calls[0]).activation, Activation::None);
  EXPECT_EQ(Count(HloOpcode::kMaximum), 1u);
}

TEST_F(LibraryPassesTest, AnAddendAndTheReluBehindItJoinTheCall) {
  gpu_schedules_ = true;
  const auto calls = RunWithLayouts(R"(
    x = f32[1024,128]{1,0} parameter(0)
    w = f32[128,256]{1,0} parameter(1)
    b = f32[256]{0} parameter(2)
    y = f32[1024,256]{1,0} parameter(3)
    d = f32[1024,256]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    bb = f32[1024,256]{1,0} broadcast(b), dimensions={1}
    a = f32[1024,256]{1,0} add(d, bb)
    s = f32[1024,256]{1,0} add(y, a)
    zero = f32[] constant(0)
    zeros = f32[1024,256]{1,0} broadcast(zero), dimensions={}
    ROOT relu = f32[1024,256]{1,0} maximum(s, zeros))");
  ASSERT_EQ(calls.size(), 1u);
  const Epilogue epilogue = MatmulEpilogue(*calls[0]);
  EXPECT_TRUE(epilogue.has_addend);
  EXPECT_TRUE(epilogue.has_bias);
  EXPECT_EQ(epilogue.activation, Activation::Relu);
  ASSERT_EQ(calls[0]->operand_count(), 4);
  EXPECT_EQ(calls[0]->operand(kAddendOperand)->parameter_number(), 3);
  EXPECT_EQ(calls[0]->operand(3)->parameter_number(), 2);
  EXPECT_EQ(module_->entry_computation()->root_instruction(), calls[0]);
}

TEST_F(LibraryPassesTest, WhatAProductIsTakenFromIsAnAddend) {
  gpu_schedules_ = true;
  constexpr absl::string_view kText = R"(
    x = f32[1024,128]{1,0} parameter(0)
    w = f32[128,256]{1,0} parameter(1)
    y = f32[1024,256]{1,0} parameter(2)
    d = f32[1024,256]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    rate = f32[] constant(0.5)
    rates = f32[1024,256]{1,0} broadcast(rate), dimensions={}
    m = f32[1024,256]{1,0} multiply(d, rates)
    ROOT s = f32[1024,256]{1,0} subtract($operands))";
  auto calls = RunWithLayouts(absl::StrReplaceAll(kText, {{"$operands", "y, m"}}));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_TRUE(MatmulEpilogue(*calls[0]).has_addend);
  EXPECT_EQ(MatmulEpilogue(*calls[0]).alpha, -0.5f);
  EXPECT_EQ(module_->entry_computation()->root_instruction(), calls[0]);
  calls = RunWithLayouts(absl::StrReplaceAll(kText, {{"$operands", "m, y"}}));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_FALSE(MatmulEpilogue(*calls[0]).has_addend);
  EXPECT_EQ(MatmulEpilogue(*calls[0]).alpha, 0.5f);
}

TEST_F(LibraryPassesTest, AnAddendThatAKernelComputesStaysInThatKernel) {
  gpu_schedules_ = true;
  const auto calls = RunWithLayouts(R"(
    x = f32[1024,128]{1,0} parameter(0)
    w = f32[128,256]{1,0} parameter(1)
    y = f32[1024,256]{1,0} parameter(2)
    d = f32[1024,256]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    e = f32[1024,256]{1,0} exponential(y)
    ROOT s = f32[1024,256]{1,0} add(d, e))");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_FALSE(MatmulEpilogue(*calls[0]).has_addend);
}

// oneDNN's clip turns NaN into a number.
TEST_F(LibraryPassesTest, AClampStaysAKernel) {
  gpu_schedules_ = true;
  const auto calls = RunWithLayouts(R"(
    x = f32[1024,128]{1,0} parameter(0)
    w = f32[128,256]{1,0} parameter(1)
    d = f32[1024,256]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    zero = f32[] constant(0)
    zeros = f32[1024,256]{1,0} broadcast(zero), dimensions={}
    six = f32[] constant(6)
    sixes = f32[1024,256]{1,0} broadcast(six), dimensions={}
    ROOT relu6 = f32[1024,256]{1,0} clamp(zeros, d, sixes))");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(MatmulEpilogue(*calls[0]).activation, Activation::None);
  EXPECT_EQ(Count(HloOpcode::kClamp), 1u);
}

TEST_F(LibraryPassesTest, ABroadcastAlongRowsIsNoBias) {
  gpu_schedules_ = true;
  const auto calls = Run(R"(
    x = f32[1024,128] parameter(0)
    w = f32[128,1024] parameter(1)
    b = f32[1024] parameter(2)
    d = f32[1024,1024] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    bb = f32[1024,1024] broadcast(b), dimensions={0}
    ROOT a = f32[1024,1024] add(d, bb))");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_FALSE(MatmulEpilogue(*calls[0]).has_bias);
}

TEST_F(LibraryPassesTest, ConvolutionBiasAndReluAreOneCall) {
  const auto calls = Run(R"(
    x = f32[2,3,16,16] parameter(0)
    w = f32[8,3,3,3] parameter(1)
    b = f32[8] parameter(2)
    c = f32[2,8,16,16] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01
    bb = f32[2,8,16,16] broadcast(b), dimensions={1}
    a = f32[2,8,16,16] add(c, bb)
    zero = f32[] constant(0)
    zeros = f32[2,8,16,16] broadcast(zero), dimensions={}
    ROOT relu = f32[2,8,16,16] maximum(a, zeros))");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]->custom_call_target(), kConvolutionBiasActivationTarget);
  const auto config = ConvolutionConfigOf(*calls[0]);
  EXPECT_TRUE(config->epilogue.has_bias);
  EXPECT_EQ(config->epilogue.activation, Activation::Relu);
  EXPECT_EQ(module_->entry_computation()->root_instruction(), calls[0]);
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
