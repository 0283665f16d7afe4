// Which scales, addends, biases and maxima with zero join a library call.
#include <string>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "pjrt_core/compiler/passes/onednn/library_call.h"
#include "tests/compiler/library_passes_test_util.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace onexpu::compiler {
namespace {

using program::Activation;
using xla::HloOpcode;

using EpilogueFusionTest = LibraryPassesTest;

TEST_F(EpilogueFusionTest, ScaleBiasAndReluBehindAReshapeJoinTheMatmul) {
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

TEST_F(EpilogueFusionTest, AMiddlingProductOnACpuTakesItsScaleAlone) {
  const auto calls = Run(ScaledDot(1024));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(MatmulEpilogue(*calls[0]).alpha, 0.5f);
  EXPECT_FALSE(MatmulEpilogue(*calls[0]).has_bias);
  EXPECT_EQ(Count(HloOpcode::kAdd), 1u);
}

TEST_F(EpilogueFusionTest, ALargeProductOnACpuTakesItsBias) {
  const auto calls = Run(ScaledDot(8192));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_TRUE(MatmulEpilogue(*calls[0]).has_bias);
}

TEST_F(EpilogueFusionTest, AValueThatOthersReadStays) {
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

TEST_F(EpilogueFusionTest, AnAddendAndTheReluBehindItJoinTheCall) {
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

TEST_F(EpilogueFusionTest, WhatAProductIsTakenFromIsAnAddend) {
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

TEST_F(EpilogueFusionTest, AnAddendThatAKernelComputesStaysInThatKernel) {
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
TEST_F(EpilogueFusionTest, AClampStaysAKernel) {
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

TEST_F(EpilogueFusionTest, ABroadcastAlongRowsIsNoBias) {
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

TEST_F(EpilogueFusionTest, ConvolutionBiasAndReluAreOneCall) {
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

}  // namespace
}  // namespace onexpu::compiler
