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

// A convolution and its bias, v, of which `body` computes its root. $0 is the array's shape, $1 its
// element type.
std::string AfterConvolution(absl::string_view type, absl::string_view body) {
  constexpr absl::string_view kValue = R"(
    x = $1[2,3,16,16] parameter(0)
    w = $1[8,3,3,3] parameter(1)
    b = $1[8] parameter(2)
    c = $0 convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01
    bb = $0 broadcast(b), dimensions={1}
    v = $0 add(c, bb)
    zero = $1[] constant(0)
    zeros = $0 broadcast(zero), dimensions={}
    one = $1[] constant(1)
    ones = $0 broadcast(one), dimensions={}
    half = $1[] constant(0.5)
    halves = $0 broadcast(half), dimensions={}
    scale = $1[] constant(0.797884583)
    scales = $0 broadcast(scale), dimensions={}
    cubic = $1[] constant(0.044715)
    cubics = $0 broadcast(cubic), dimensions={}
)";
  return absl::Substitute(absl::StrCat(kValue, body), absl::StrCat(type, "[2,8,16,16]"), type);
}

struct ActivationCase {
  const char* name;
  const char* type;
  const char* body;
  Activation activation;
  float alpha = 0;
};

class ActivationTest : public LibraryPassesTest,
                       public ::testing::WithParamInterface<ActivationCase> {};

TEST_P(ActivationTest, JoinsTheCall) {
  const auto calls = Run(AfterConvolution(GetParam().type, GetParam().body));
  ASSERT_EQ(calls.size(), 1u);
  const Epilogue epilogue = ConvolutionConfigOf(*calls[0])->epilogue;
  EXPECT_TRUE(epilogue.has_bias);
  EXPECT_EQ(epilogue.activation, GetParam().activation);
  EXPECT_EQ(epilogue.activation_alpha, GetParam().alpha);
  const HloInstruction* root = module_->entry_computation()->root_instruction();
  EXPECT_EQ(root->opcode() == HloOpcode::kConvert ? root->operand(0) : root, calls[0]);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, ActivationTest,
    ::testing::Values(
        ActivationCase{"Relu", "f32", "ROOT r = $0 maximum(zeros, v)", Activation::Relu},
        ActivationCase{"Tanh", "f32", "ROOT r = $0 tanh(v)", Activation::Tanh},
        ActivationCase{"Logistic", "bf16", "ROOT r = $0 logistic(v)", Activation::Logistic},
        ActivationCase{"LogisticOfJax", "f32", R"(
            n = $0 negate(v)
            e = $0 exponential(n)
            d = $0 add(e, ones)
            ROOT r = $0 divide(ones, d))",
                       Activation::Logistic},
        ActivationCase{"Swish", "f32", R"(
            l = $0 logistic(v)
            ROOT r = $0 multiply(l, v))",
                       Activation::Swish},
        ActivationCase{"SwishOfJax", "f32", R"(
            n = $0 negate(v)
            e = $0 exponential(n)
            d = $0 add(e, ones)
            l = $0 divide(ones, d)
            ROOT r = $0 multiply(v, l))",
                       Activation::Swish},
        ActivationCase{"LeakyRelu", "f32", R"(
            p = pred[2,8,16,16] compare(v, zeros), direction=GE
            m = $0 multiply(v, halves)
            ROOT r = $0 select(p, v, m))",
                       Activation::LeakyRelu, 0.5f},
        ActivationCase{"LeakyReluThatGrows", "f32", R"(
            positive = pred[2,8,16,16] compare(v, zeros), direction=GT
            slope = $1[] constant(-3)
            slopes = $0 broadcast(slope), dimensions={}
            m = $0 multiply(slopes, v)
            ROOT r = $0 select(positive, v, m))",
                       Activation::LeakyRelu, -3.f},
        ActivationCase{"LeakyReluAsAMaximum", "f32", R"(
            m = $0 multiply(v, halves)
            ROOT r = $0 maximum(m, v))",
                       Activation::LeakyRelu, 0.5f},
        // On this CPU a product of f32 whose result is f16.
        ActivationCase{"Elu", "f16", R"(
            positive = pred[2,8,16,16] compare(v, zeros), direction=GT
            e = $0 exponential-minus-one(v)
            ROOT r = $0 select(positive, v, e))",
                       Activation::Elu, 1.f},
        ActivationCase{"EluOfJax", "f16", R"(
            positive = pred[2,8,16,16] compare(v, zeros), direction=GT
            s = $0 select(positive, zeros, v)
            e = $0 exponential-minus-one(s)
            a = $0 multiply(halves, e)
            ROOT r = $0 select(positive, v, a))",
                       Activation::Elu, 0.5f},
        ActivationCase{"GeluOfJax", "f32", R"(
            square = $0 multiply(v, v)
            cube = $0 multiply(square, v)
            small = $0 multiply(cube, cubics)
            sum = $0 add(v, small)
            argument = $0 multiply(sum, scales)
            t = $0 tanh(argument)
            gate = $0 add(t, ones)
            half_gate = $0 multiply(gate, halves)
            ROOT r = $0 multiply(v, half_gate))",
                       Activation::GeluTanh},
        // Of f32 the constants would not be near enough.
        ActivationCase{"GeluOfRoundedConstants", "bf16", R"(
            third = $1[] constant(0.0447)
            thirds = $0 broadcast(third), dimensions={}
            half_v = $0 multiply(v, halves)
            small = $0 multiply(v, thirds)
            square = $0 multiply(small, v)
            cube = $0 multiply(square, v)
            sum = $0 add(v, cube)
            argument = $0 multiply(sum, scales)
            t = $0 tanh(argument)
            gate = $0 add(t, ones)
            ROOT r = $0 multiply(half_v, gate))",
                       Activation::GeluTanh},
        ActivationCase{"GeluFactored", "f32", R"(
            half_v = $0 multiply(v, halves)
            scaled = $0 multiply(v, scales)
            square = $0 multiply(v, v)
            small = $0 multiply(cubics, square)
            sum = $0 add(ones, small)
            argument = $0 multiply(scaled, sum)
            t = $0 tanh(argument)
            gate = $0 add(ones, t)
            ROOT r = $0 multiply(gate, half_v))",
                       Activation::GeluTanh}),
    [](const auto& info) { return std::string(info.param.name); });

class NoActivationTest : public LibraryPassesTest,
                         public ::testing::WithParamInterface<ActivationCase> {};

TEST_P(NoActivationTest, StaysAKernel) {
  const auto calls = Run(AfterConvolution(GetParam().type, GetParam().body));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(ConvolutionConfigOf(*calls[0])->epilogue.activation, GetParam().activation);
  EXPECT_NE(module_->entry_computation()->root_instruction(), calls[0]);
}

INSTANTIATE_TEST_SUITE_P(Forms, NoActivationTest,
                         ::testing::Values(
                             // Its lower half is the call's.
                             ActivationCase{"Relu6", "f32", R"(
            six = $1[] constant(6)
            sixes = $0 broadcast(six), dimensions={}
            m = $0 maximum(v, zeros)
            ROOT r = $0 minimum(m, sixes))",
                                            Activation::Relu},
                             ActivationCase{"AValueThatIsAResultToo", "f32", R"(
            t = $0 tanh(v)
            ROOT r = ($0, $0) tuple(v, t))",
                                            Activation::None},
                             ActivationCase{"AGateThatIsAResultToo", "f32", R"(
            l = $0 logistic(v)
            s = $0 multiply(v, l)
            ROOT r = ($0, $0) tuple(l, s))",
                                            Activation::None},
                             // JAX's derivative of swish needs both.
                             ActivationCase{"ASwishWhoseDerivativeIsTaken", "f32", R"(
            l = $0 logistic(v)
            s = $0 multiply(v, l)
            o = $0 subtract(ones, l)
            ROOT r = ($0, $0) tuple(s, o))",
                                            Activation::None},
                             ActivationCase{"TheGateOfAnother", "f32", R"(
            y = $0 parameter(3)
            l = $0 logistic(y)
            ROOT r = $0 multiply(v, l))",
                                            Activation::None},
                             ActivationCase{"SwishOfAMultiple", "f32", R"(
            m = $0 multiply(v, halves)
            l = $0 logistic(m)
            ROOT r = $0 multiply(v, l))",
                                            Activation::None},
                             ActivationCase{"TwiceSwish", "f32", R"(
            l = $0 logistic(v)
            d = $0 add(v, v)
            ROOT r = $0 multiply(d, l))",
                                            Activation::None},
                             ActivationCase{"TwoDividedByOnePlusAnExponential", "f32", R"(
            n = $0 negate(v)
            e = $0 exponential(n)
            d = $0 add(e, ones)
            two = $0 add(ones, ones)
            ROOT r = $0 divide(two, d))",
                                            Activation::None},
                             ActivationCase{"GeluWithAnErrorFunction", "f32", R"(
            root_half = $1[] constant(0.707106769)
            root_halves = $0 broadcast(root_half), dimensions={}
            half_v = $0 multiply(v, halves)
            argument = $0 multiply(v, root_halves)
            e = $0 erf(argument)
            gate = $0 add(e, ones)
            ROOT r = $0 multiply(half_v, gate))",
                                            Activation::None},
                             ActivationCase{"GeluOfOtherConstants", "f32", R"(
            third = $1[] constant(0.0447)
            thirds = $0 broadcast(third), dimensions={}
            half_v = $0 multiply(v, halves)
            small = $0 multiply(v, thirds)
            square = $0 multiply(small, v)
            cube = $0 multiply(square, v)
            sum = $0 add(v, cube)
            argument = $0 multiply(sum, scales)
            t = $0 tanh(argument)
            gate = $0 add(t, ones)
            ROOT r = $0 multiply(half_v, gate))",
                                            Activation::None},
                             // The first gives 0 for NaN, the second NaN for an infinity.
                             ActivationCase{"ASelectionOfZero", "f32",
                                            R"(
            positive = pred[2,8,16,16] compare(v, zeros), direction=GT
            ROOT r = $0 select(positive, v, zeros))",
                                            Activation::None},
                             ActivationCase{"LeakyReluOfSlopeZero", "f32", R"(
            positive = pred[2,8,16,16] compare(v, zeros), direction=GT
            m = $0 multiply(v, zeros)
            ROOT r = $0 select(positive, v, m))",
                                            Activation::None},
                             ActivationCase{"ASteepMaximum", "f32", R"(
            two = $1[] constant(2)
            twos = $0 broadcast(two), dimensions={}
            m = $0 multiply(v, twos)
            ROOT r = $0 maximum(v, m))",
                                            Activation::None},
                             ActivationCase{"NegativesThatStay", "f32", R"(
            positive = pred[2,8,16,16] compare(v, zeros), direction=GT
            m = $0 multiply(v, halves)
            ROOT r = $0 select(positive, m, v))",
                                            Activation::None},
                             ActivationCase{"AnotherThreshold", "f32", R"(
            p = pred[2,8,16,16] compare(v, ones), direction=GT
            m = $0 multiply(v, halves)
            ROOT r = $0 select(p, v, m))",
                                            Activation::None},
                             // oneDNN's is not exact near zero.
                             ActivationCase{"Elu", "f32", R"(
            positive = pred[2,8,16,16] compare(v, zeros), direction=GT
            e = $0 exponential-minus-one(v)
            ROOT r = $0 select(positive, v, e))",
                                            Activation::None},
                             ActivationCase{"EluOfBfloat16", "bf16", R"(
            positive = pred[2,8,16,16] compare(v, zeros), direction=GT
            e = $0 exponential-minus-one(v)
            ROOT r = $0 select(positive, v, e))",
                                            Activation::None},
                             // The call's result would be rounded after the hyperbolic tangent.
                             ActivationCase{"AWiderType", "bf16", R"(
            wide = f32[2,8,16,16] convert(v)
            ROOT r = f32[2,8,16,16] tanh(wide))",
                                            Activation::None}),
                         [](const auto& info) { return std::string(info.param.name); });

// A product of `rows` rows on a CPU, behind a reshape.
std::string SwishOfDot(int64_t rows) {
  return absl::Substitute(R"(
    x = f32[$0,128] parameter(0)
    w = f32[128,256] parameter(1)
    d = f32[$0,256] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    r = f32[2,$1,256] reshape(d)
    l = f32[2,$1,256] logistic(r)
    ROOT s = f32[2,$1,256] multiply(r, l))",
                          rows, rows / 2);
}

TEST_F(LibraryPassesTest, ALargeProductOnACpuTakesItsSwish) {
  const auto calls = Run(SwishOfDot(8192));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(MatmulEpilogue(*calls[0]).activation, Activation::Swish);
  EXPECT_EQ(module_->entry_computation()->root_instruction()->opcode(), HloOpcode::kReshape);
}

TEST_F(LibraryPassesTest, AMiddlingProductOnACpuLeavesItsSwish) {
  const auto calls = Run(SwishOfDot(1024));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(MatmulEpilogue(*calls[0]).activation, Activation::None);
}

TEST_F(LibraryPassesTest, AnActivationBehindAnAddendJoinsTheCall) {
  gpu_schedules_ = true;
  const auto calls = RunWithLayouts(R"(
    x = f32[1024,128]{1,0} parameter(0)
    w = f32[128,256]{1,0} parameter(1)
    y = f32[1024,256]{1,0} parameter(2)
    d = f32[1024,256]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    s = f32[1024,256]{1,0} add(d, y)
    zero = f32[] constant(0)
    zeros = f32[1024,256]{1,0} broadcast(zero), dimensions={}
    tenth = f32[] constant(0.1)
    tenths = f32[1024,256]{1,0} broadcast(tenth), dimensions={}
    p = pred[1024,256]{1,0} compare(s, zeros), direction=GE
    m = f32[1024,256]{1,0} multiply(s, tenths)
    ROOT leaky = f32[1024,256]{1,0} select(p, s, m))");
  ASSERT_EQ(calls.size(), 1u);
  const Epilogue epilogue = MatmulEpilogue(*calls[0]);
  EXPECT_TRUE(epilogue.has_addend);
  EXPECT_EQ(epilogue.activation, Activation::LeakyRelu);
  EXPECT_EQ(epilogue.activation_alpha, 0.1f);
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
