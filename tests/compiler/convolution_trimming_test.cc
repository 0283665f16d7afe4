// Trimmed convolutions compute what the original ones do, by XLA's evaluator, which leaves padding
// out of the sums: with an infinite weight, a zero that stands for padding would give NaN.
#include "pjrt_core/compiler/passes/onednn/convolution_trimming.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "pjrt_core/compiler/passes/onednn/convolution_forms.h"
#include "tests/compiler/hlo_test_util.h"
#include "xla/array3d.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/window_util.h"

namespace onexpu::compiler {
namespace {

struct Case {
  int64_t source, kernel, stride, low, high, base, dilation;
  bool reversed;

  int64_t Results() const {
    const int64_t padded = (source - 1) * base + 1 + low + high;
    const int64_t window = (kernel - 1) * dilation + 1;
    return padded < window ? 0 : (padded - window) / stride + 1;
  }
  std::string Module() const {
    return absl::StrCat("HloModule m\nENTRY e {\n x = f32[1,", source,
                        ",2] parameter(0)\n w = f32[", kernel,
                        ",2,2] parameter(1)\n ROOT c = f32[1,", Results(),
                        ",2] convolution(x, w), window={size=", kernel, " stride=", stride,
                        " pad=", low, "_", high, " lhs_dilate=", base, " rhs_dilate=", dilation,
                        " rhs_reversal=", reversed ? 1 : 0, "}, dim_labels=b0f_0io->b0f\n}\n");
  }
};

xla::Literal Source(int64_t extent) {
  xla::Array3D<float> values(1, extent, 2);
  for (int64_t i = 0; i < 2 * extent; ++i) values(0, i / 2, i % 2) = static_cast<float>(i + 1);
  return xla::LiteralUtil::CreateR3FromArray3D(values);
}

// The tap `infinite` has an infinite weight to the first output.
xla::Literal Kernel(int64_t extent, int64_t infinite) {
  xla::Array3D<float> values(extent, 2, 2);
  for (int64_t i = 0; i < 4 * extent; ++i) {
    values(i / 4, i / 2 % 2, i % 2) = static_cast<float>(i % 7 + 1);
  }
  values(infinite, 1, 0) = std::numeric_limits<float>::infinity();
  return xla::LiteralUtil::CreateR3FromArray3D(values);
}

class ConvolutionTrimmingTest : public ::testing::Test {
 protected:
  // Trims the only convolution of the module with `trim`; returns what stands for it.
  template <typename Trim>
  TrimmedConvolution Apply(const std::string& text, Trim trim) {
    module_ = ParseModule(text);
    xla::HloInstruction* const convolution = module_->entry_computation()->root_instruction();
    const absl::StatusOr<TrimmedConvolution> trimmed = trim(convolution);
    EXPECT_TRUE(trimmed.ok()) << trimmed.status();
    if (!trimmed.ok()) return {};
    if (trimmed->result != nullptr) {
      EXPECT_TRUE(
          module_->entry_computation()->ReplaceInstruction(convolution, trimmed->result).ok());
    }
    return *trimmed;
  }

  void ExpectSameResults(const std::string& text, int64_t source, int64_t kernel) {
    const std::unique_ptr<xla::HloModule> original = ParseModule(text);
    const xla::Literal x = Source(source);
    for (int64_t infinite = 0; infinite < kernel; ++infinite) {
      const xla::Literal w = Kernel(kernel, infinite);
      EXPECT_EQ(Evaluate(*module_, {&x, &w}), Evaluate(*original, {&x, &w}))
          << text << module_->ToString();
    }
  }

  std::unique_ptr<xla::HloModule> module_;
};

TEST_F(ConvolutionTrimmingTest, EveryFormBecomesOneOfTheLibrary) {
  int64_t convolutions = 0, zeros = 0, dilated = 0;
  const auto check = [&](const Case& c) {
    const std::string text = c.Module();
    const TrimmedConvolution trimmed = Apply(text, TrimConvolution);
    ASSERT_NE(trimmed.result, nullptr) << text;
    if (trimmed.convolution == nullptr) {
      ++zeros;
    } else {
      ++convolutions;
      const auto form = FormOf(*trimmed.convolution);
      ASSERT_TRUE(form.has_value()) << text << trimmed.convolution->ToString();
      const bool is_gradient = form->kind == program::ConvolutionKind::BackwardData;
      EXPECT_TRUE(is_gradient || c.base == 1) << text;
      dilated += c.base > 1;
      // What is padded are results, never the source.
      EXPECT_NE(trimmed.convolution->operand(0)->opcode(), xla::HloOpcode::kPad);
    }
    ExpectSameResults(text, c.source, c.kernel);
  };
  for (const int64_t source : {1, 2, 5}) {
    for (const int64_t kernel : {1, 3}) {
      for (const int64_t stride : {1, 2, 3}) {
        for (const int64_t low : {-4, -1, 0, 2, 7}) {
          for (const int64_t high : {-3, 0, 1, 6}) {
            for (const int64_t base : {1, 2, 3, 5}) {
              for (const int64_t dilation : {1, 2}) {
                const bool reversed = (source + low + high + base) % 2 == 0;
                const Case c = {source, kernel, stride, low, high, base, dilation, reversed};
                if (c.Results() > 0) check(c);
                if (HasFatalFailure()) return;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(convolutions, 1000);
  EXPECT_GT(dilated, 700);
  EXPECT_GT(zeros, 50);
}

TEST_F(ConvolutionTrimmingTest, GroupsAndSeveralDimensionsStay) {
  const std::string text = R"(
    HloModule m
    ENTRY e {
      x = f32[2,4,3,4] parameter(0)
      w = f32[3,2,2,6] parameter(1)
      ROOT c = f32[2,10,2,6] convolution(x, w), window={size=3x2 stride=1x2 pad=1_1x3_-1
        lhs_dilate=3x1}, dim_labels=b01f_01io->b01f, feature_group_count=2
    })";
  const TrimmedConvolution trimmed = Apply(text, TrimConvolution);
  ASSERT_NE(trimmed.convolution, nullptr);
  EXPECT_EQ(trimmed.convolution->feature_group_count(), 2);
  EXPECT_FALSE(xla::window_util::HasStride(trimmed.convolution->window()));
  xla::Literal x =
      xla::Literal::Make(xla::ShapeUtil::MakeShapeWithDescendingLayout(xla::F32, {2, 4, 3, 4}))
          .value();
  xla::Literal w =
      xla::Literal::Make(xla::ShapeUtil::MakeShapeWithDescendingLayout(xla::F32, {3, 2, 2, 6}))
          .value();
  for (size_t i = 0; i < x.data<float>().size(); ++i) x.data<float>()[i] = i % 5 + 1;
  for (size_t i = 0; i < w.data<float>().size(); ++i) w.data<float>()[i] = i % 3 + 1;
  w.data<float>()[0] = std::numeric_limits<float>::infinity();
  const std::unique_ptr<xla::HloModule> original = ParseModule(text);
  EXPECT_EQ(Evaluate(*module_, {&x, &w}), Evaluate(*original, {&x, &w})) << module_->ToString();
}

// Strides of thousands over a dilated source would fill memory with what nothing reads.
TEST_F(ConvolutionTrimmingTest, StridesThatWasteAlmostAllAreLeftAlone) {
  const Case c = {100, 3, 997, 0, 0, 1000, 1, false};
  const TrimmedConvolution trimmed = Apply(c.Module(), TrimConvolution);
  EXPECT_EQ(trimmed.result, nullptr);
  EXPECT_EQ(module_->entry_computation()->root_instruction()->opcode(),
            xla::HloOpcode::kConvolution);
}

// The gradient of weights of one element each: a result of one element.
TEST_F(ConvolutionTrimmingTest, SamplesAreOnlyWhatIsRead) {
  int64_t count = 0;
  for (const int64_t source : {1, 4, 9}) {
    for (const int64_t kernel : {1, 3, 5}) {
      for (const int64_t dilation : {1, 2, 4}) {
        for (const int64_t low : {-2, 0, 1, 3, 20}) {
          const int64_t high = (kernel - 1) * dilation + 1 - source - low;
          const Case c = {source, kernel, 1, low, high, 1, dilation, false};
          ASSERT_EQ(c.Results(), 1);
          const TrimmedConvolution trimmed = Apply(c.Module(), SampleConvolution);
          ASSERT_NE(trimmed.result, nullptr);
          if (trimmed.convolution != nullptr) {
            ++count;
            EXPECT_FALSE(xla::window_util::HasPadding(trimmed.convolution->window()));
            EXPECT_FALSE(xla::window_util::HasWindowDilation(trimmed.convolution->window()));
          }
          ExpectSameResults(c.Module(), source, kernel);
        }
      }
    }
  }
  EXPECT_GT(count, 40);
}

}  // namespace
}  // namespace onexpu::compiler
