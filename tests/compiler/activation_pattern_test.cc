// Which activations join a library call, and which stay kernels.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "pjrt_core/compiler/passes/onednn/library_call.h"
#include "tests/compiler/library_passes_test_util.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace onexpu::compiler {
namespace {

using program::Activation;
using xla::HloInstruction;
using xla::HloOpcode;

using ActivationPatternTest = LibraryPassesTest;

// A convolution and its bias, v, of which `body` computes its root, with what it needs of the
// values that stand ready. $0 is the array's shape, $1 its element type.
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
    positive = pred[2,8,16,16] compare(v, zeros), direction=GT
    halved = $0 multiply(v, halves)
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

// GELU of the constants that bf16 leaves of its own: those that f32 has are not so near.
constexpr char kRoundedGelu[] = R"(
            third = $1[] constant(0.0447)
            thirds = $0 broadcast(third), dimensions={}
            small = $0 multiply(v, thirds)
            square = $0 multiply(small, v)
            cube = $0 multiply(square, v)
            sum = $0 add(v, cube)
            argument = $0 multiply(sum, scales)
            t = $0 tanh(argument)
            gate = $0 add(t, ones)
            ROOT r = $0 multiply(halved, gate))";

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
            ROOT r = $0 select(p, v, halved))",
                       Activation::LeakyRelu, 0.5f},
        ActivationCase{"LeakyReluThatGrows", "f32", R"(
            slope = $1[] constant(-3)
            slopes = $0 broadcast(slope), dimensions={}
            m = $0 multiply(slopes, v)
            ROOT r = $0 select(positive, v, m))",
                       Activation::LeakyRelu, -3.f},
        ActivationCase{"LeakyReluAsAMaximum", "f32", R"(
            ROOT r = $0 maximum(halved, v))",
                       Activation::LeakyRelu, 0.5f},
        // On this CPU a product of f32 whose result is f16.
        ActivationCase{"Elu", "f16", R"(
            e = $0 exponential-minus-one(v)
            ROOT r = $0 select(positive, v, e))",
                       Activation::Elu, 1.f},
        ActivationCase{"EluOfJax", "f16", R"(
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
        ActivationCase{"GeluOfRoundedConstants", "bf16", kRoundedGelu, Activation::GeluTanh},
        ActivationCase{"GeluFactored", "f32", R"(
            scaled = $0 multiply(v, scales)
            square = $0 multiply(v, v)
            small = $0 multiply(cubics, square)
            sum = $0 add(ones, small)
            argument = $0 multiply(scaled, sum)
            t = $0 tanh(argument)
            gate = $0 add(ones, t)
            ROOT r = $0 multiply(gate, halved))",
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
            l = $0 logistic(halved)
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
            argument = $0 multiply(v, root_halves)
            e = $0 erf(argument)
            gate = $0 add(e, ones)
            ROOT r = $0 multiply(halved, gate))",
                                            Activation::None},
                             ActivationCase{"GeluOfOtherConstants", "f32", kRoundedGelu,
                                            Activation::None},
                             // The first gives 0 for NaN, the second NaN for an infinity.
                             ActivationCase{"ASelectionOfZero", "f32",
                                            R"(
            ROOT r = $0 select(positive, v, zeros))",
                                            Activation::None},
                             ActivationCase{"LeakyReluOfSlopeZero", "f32", R"(
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
            ROOT r = $0 select(positive, halved, v))",
                                            Activation::None},
                             ActivationCase{"AnotherThreshold", "f32", R"(
            p = pred[2,8,16,16] compare(v, ones), direction=GT
            ROOT r = $0 select(p, v, halved))",
                                            Activation::None},
                             // oneDNN's is not exact near zero.
                             ActivationCase{"Elu", "f32", R"(
            e = $0 exponential-minus-one(v)
            ROOT r = $0 select(positive, v, e))",
                                            Activation::None},
                             ActivationCase{"EluOfBfloat16", "bf16", R"(
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

TEST_F(ActivationPatternTest, ALargeProductOnACpuTakesItsSwish) {
  const auto calls = Run(SwishOfDot(8192));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(MatmulEpilogue(*calls[0]).activation, Activation::Swish);
  EXPECT_EQ(module_->entry_computation()->root_instruction()->opcode(), HloOpcode::kReshape);
}

TEST_F(ActivationPatternTest, AMiddlingProductOnACpuLeavesItsSwish) {
  const auto calls = Run(SwishOfDot(1024));
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(MatmulEpilogue(*calls[0]).activation, Activation::None);
}

TEST_F(ActivationPatternTest, AnActivationBehindAnAddendJoinsTheCall) {
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

}  // namespace
}  // namespace onexpu::compiler
