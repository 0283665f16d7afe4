// Expanded transforms against the evaluator's own.
#include "pjrt_core/compiler/passes/fourier/fft_expander.h"

#include <complex>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/compiler/hlo_test_util.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_comparison.h"

namespace onexpu::compiler {
namespace {

struct Case {
  const char* type;
  std::vector<int64_t> dimensions;  // of the signal
  std::vector<int64_t> lengths;     // of the last axes
};

std::string Shape(const char* type, std::vector<int64_t> dimensions, bool half) {
  if (half) dimensions.back() = dimensions.back() / 2 + 1;
  return absl::StrCat(type, "[", absl::StrJoin(dimensions, ","), "]");
}

std::string ModuleText(const Case& c) {
  const std::string type = c.type;
  const std::string operand = Shape(type == "RFFT" ? "f32" : "c64", c.dimensions, type == "IRFFT");
  const std::string result = Shape(type == "IRFFT" ? "f32" : "c64", c.dimensions, type == "RFFT");
  return absl::StrCat("HloModule m\nENTRY e {\n  x = ", operand,
                      " parameter(0)\n  ROOT r = ", result, " fft(x), fft_type=", type,
                      ", fft_length={", absl::StrJoin(c.lengths, ","), "}\n}\n");
}

xla::Literal RandomLiteral(const xla::Shape& shape) {
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  xla::Literal literal = xla::Literal::Make(shape).value();
  if (shape.element_type() == xla::C64) {
    EXPECT_TRUE(literal
                    .Populate<std::complex<float>>([&](absl::Span<const int64_t>) {
                      return std::complex<float>(uniform(engine), uniform(engine));
                    })
                    .ok());
  } else {
    EXPECT_TRUE(
        literal.Populate<float>([&](absl::Span<const int64_t>) { return uniform(engine); }).ok());
  }
  return literal;
}

class FftExpanderTest : public ::testing::TestWithParam<Case> {};

TEST_P(FftExpanderTest, AgreesWithTheEvaluator) {
  const std::unique_ptr<xla::HloModule> module = ParseModule(ModuleText(GetParam()));
  ASSERT_NE(module, nullptr);
  const xla::Literal argument =
      RandomLiteral(module->entry_computation()->parameter_instruction(0)->shape());
  const xla::Literal expected = Evaluate(*module, {&argument});
  Target target;
  target.schedules = &GpuSchedulePolicy();  // where no transform is a kernel
  const auto changed = FftExpander(target).Run(module.get());
  ASSERT_TRUE(changed.ok() && *changed) << changed.status();
  EXPECT_TRUE(Instructions(*module, xla::HloOpcode::kFft).empty());
  const xla::Literal actual = Evaluate(*module, {&argument});
  // Sums of up to 4106 products of f32 numbers around one, of random sign, in up to three
  // transforms: errors of some 3 * sqrt(4106) * 2^-24 of the largest, which are near 100.
  EXPECT_TRUE(
      xla::literal_comparison::Near(expected, actual, xla::ErrorSpec(2e-4, 2e-4), {}, {}).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Transforms, FftExpanderTest,
    ::testing::Values(
        Case{"FFT", {3, 8}, {8}}, Case{"IFFT", {3, 8}, {8}}, Case{"FFT", {7}, {7}},
        Case{"FFT", {2, 4, 6}, {4, 6}}, Case{"IFFT", {3, 4, 5}, {3, 4, 5}},
        Case{"RFFT", {3, 8}, {8}}, Case{"RFFT", {3, 7}, {7}}, Case{"RFFT", {4, 6}, {4, 6}},
        Case{"IRFFT", {3, 8}, {8}}, Case{"IRFFT", {3, 7}, {7}}, Case{"IRFFT", {4, 6}, {4, 6}},
        // Above the largest whole matrix: in two steps.
        Case{"FFT", {2, 600}, {600}}, Case{"IFFT", {600}, {600}}, Case{"RFFT", {600}, {600}},
        // A large prime, and one in a product.
        Case{"FFT", {2, 2053}, {2053}}, Case{"IFFT", {2053}, {2053}}, Case{"RFFT", {4106}, {4106}},
        Case{"IRFFT", {2053}, {2053}}, Case{"IRFFT", {3, 2500}, {2500}}));

}  // namespace
}  // namespace onexpu::compiler
