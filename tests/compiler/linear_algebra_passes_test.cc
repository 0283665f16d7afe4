// Which transforms and factorisations become oneMKL's, and with which layouts.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "pjrt_core/compiler/analysis/mkl_call.h"
#include "pjrt_core/compiler/passes/layout/linear_algebra_layouts.h"
#include "pjrt_core/compiler/passes/linear_algebra/linear_algebra_rewriter.h"
#include "tests/compiler/hlo_test_util.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

class LinearAlgebraRewriterTest : public ::testing::Test {
 protected:
  // The custom calls of a module of one entry computation.
  std::vector<HloInstruction*> Run(absl::string_view body) {
    module_ = ParseModule(absl::StrCat("HloModule m\nENTRY e {\n", body, "\n}\n"));
    if (module_ == nullptr) return {};
    target_.has_fp64 = true;
    status_ = LinearAlgebraRewriter(target_).Run(module_.get()).status();
    return Instructions(*module_, HloOpcode::kCustomCall);
  }

  Target target_;
  absl::Status status_;
  std::unique_ptr<xla::HloModule> module_;
};

TEST_F(LinearAlgebraRewriterTest, ALargeTransformIsTheLibrarys) {
  const auto calls = Run(R"(
    x = f32[16,4096] parameter(0)
    ROOT y = c64[16,2049] fft(x), fft_type=RFFT, fft_length={4096})");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]->custom_call_target(), kFftTarget);
  EXPECT_EQ(FftConfigOf(*calls[0])->kind, program::FftKind::Rfft);
  EXPECT_EQ(FftConfigOf(*calls[0])->dimensions, 1);
}

TEST_F(LinearAlgebraRewriterTest, ASmallTransformStays) {
  EXPECT_TRUE(Run(R"(
    x = c64[4,8] parameter(0)
    ROOT y = c64[4,8] fft(x), fft_type=FFT, fft_length={8})")
                  .empty());
}

TEST_F(LinearAlgebraRewriterTest, TransformsThatAreKernelsTakeOneDimensionEach) {
  EXPECT_TRUE(Run(R"(
    x = f32[3,64,128] parameter(0)
    ROOT y = c64[3,64,65] fft(x), fft_type=RFFT, fft_length={64,128})")
                  .empty());
}

TEST_F(LinearAlgebraRewriterTest, OnlyTheLastStepOfAnInverseIsReal) {
  const auto calls = Run(R"(
    x = c64[3,64,32,1025] parameter(0)
    ROOT y = f32[3,64,32,2048] fft(x), fft_type=IRFFT, fft_length={64,32,2048})");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(FftConfigOf(*calls[0])->kind, program::FftKind::Ifft);
  EXPECT_EQ(FftConfigOf(*calls[0])->dimensions, 2);
  EXPECT_EQ(calls[0]->shape().dimensions(1), 1025);  // the half spectrum joined the batch
  EXPECT_EQ(FftConfigOf(*calls[1])->kind, program::FftKind::Irfft);
  EXPECT_EQ(FftConfigOf(*calls[1])->dimensions, 1);
}

TEST_F(LinearAlgebraRewriterTest, FactorisationsWorkInPlace) {
  const auto calls = Run(R"(
    a = f64[2,40,40] parameter(0)
    b = f64[2,40,5] parameter(1)
    l = f64[2,40,40] cholesky(a), lower=true
    ROOT x = f64[2,40,5] triangular-solve(l, b), left_side=true, lower=true, unit_diagonal=false, transpose_a=TRANSPOSE)");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]->output_operand_aliasing().at(0).second.first, 0);
  EXPECT_EQ(calls[1]->output_operand_aliasing().at(0).second.first, 1);
  EXPECT_EQ(TriangularSolveConfigOf(*calls[1])->transpose, program::Transpose::Transpose);
  EXPECT_TRUE(TriangularSolveConfigOf(*calls[1])->left_side);
}

TEST_F(LinearAlgebraRewriterTest, HalfPrecisionIsComputedInSingle) {
  const auto calls = Run(R"(
    a = f16[2,40,40] parameter(0)
    b = bf16[2,40,5] parameter(1)
    l = f16[2,40,40] cholesky(a), lower=true
    m = bf16[2,40,40] convert(l)
    x = bf16[2,40,5] triangular-solve(m, b), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE
    ROOT q = (f16[2,40,40], f16[2,40]) custom-call(a), custom_call_target="Qr")");
  ASSERT_EQ(calls.size(), 3u);
  for (const HloInstruction* call : calls) {
    xla::ShapeUtil::ForEachSubshape(call->shape(), [](const xla::Shape& part, const auto&) {
      if (part.IsArray()) EXPECT_EQ(part.element_type(), xla::F32);
    });
  }
  EXPECT_EQ(
      module_->entry_computation()->root_instruction()->shape().tuple_shapes(0).element_type(),
      xla::F16);
}

TEST_F(LinearAlgebraRewriterTest, FrontendsCustomCallsAreKnown) {
  EXPECT_EQ(Run(R"(
    a = f32[64,64] parameter(0)
    ROOT r = (f32[64,64], f32[64]) custom-call(a), custom_call_target="Eigh", backend_config="0,1,100,1e-6")")
                .at(0)
                ->custom_call_target(),
            kEighTarget);
  EXPECT_FALSE(EighConfigOf(*Instructions(*module_, HloOpcode::kCustomCall).at(0))->lower);
  EXPECT_EQ(Run(R"(
    a = f32[64,30] parameter(0)
    ROOT r = (f32[64,30], s32[30], s32[64]) custom-call(a), custom_call_target="LuDecomposition")")
                .at(0)
                ->custom_call_target(),
            kLuTarget);
}

TEST_F(LinearAlgebraRewriterTest, MalformedCallsAreErrors) {
  Run(R"(
    a = f32[64] parameter(0)
    ROOT r = (f32[64], f32[64]) custom-call(a), custom_call_target="Qr")");
  EXPECT_EQ(status_.code(), absl::StatusCode::kInvalidArgument) << status_;
  Run(R"(
    a = f32[64,64] parameter(0)
    ROOT r = f32[64,64] custom-call(a), custom_call_target="onemkl-cholesky")");
  EXPECT_EQ(status_.code(), absl::StatusCode::kInvalidArgument) << status_;
}

TEST_F(LinearAlgebraRewriterTest, WithoutDoublePrecisionThereAreNoDoubles) {
  module_ = ParseModule(R"(HloModule m
ENTRY e {
  a = f64[64,64] parameter(0)
  ROOT l = f64[64,64] cholesky(a), lower=true
})");
  target_.has_fp64 = false;
  EXPECT_TRUE(LinearAlgebraRewriter(target_).Run(module_.get()).ok());
  EXPECT_TRUE(Instructions(*module_, HloOpcode::kCustomCall).empty());
}

constexpr char kCholeskyInLoop[] = R"(HloModule m
body {
  s = (s32[], f32[%s]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[%s] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  l = f32[%s] cholesky(a), lower=true
  ROOT r = (s32[], f32[%s]) tuple(next, l)
}
condition {
  s = (s32[], f32[%s]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  limit = s32[] constant(9)
  ROOT less = pred[] compare(i, limit), direction=LT
}
ENTRY e {
  s = (s32[], f32[%s]) parameter(0)
  ROOT w = (s32[], f32[%s]) while(s), condition=condition, body=body
})";

TEST_F(LinearAlgebraRewriterTest, SmallMatricesAreLapacksIfItsCallsDoNotWait) {
  constexpr absl::string_view kCholesky = R"(
    a = f32[4,4] parameter(0)
    ROOT l = f32[4,4] cholesky(a), lower=true)";
  constexpr absl::string_view kQr = R"(
    a = f32[1000,8,4] parameter(0)
    ROOT q = (f32[1000,8,4], f32[1000,4]) custom-call(a), custom_call_target="Qr")";
  EXPECT_EQ(Run(kCholesky).at(0)->custom_call_target(), kCholeskyTarget);
  EXPECT_EQ(Run(kQr).at(0)->custom_call_target(), kQrTarget);
  target_.schedules = &GpuSchedulePolicy();
  EXPECT_TRUE(Run(kCholesky).empty());
  EXPECT_EQ(Run(kQr).at(0)->custom_call_target(), "Qr");
}

TEST_F(LinearAlgebraRewriterTest, ManyTinySystemsAreSolvedByAKernel) {
  const auto solve = [&](int batch) {
    return Run(absl::StrFormat(R"(
      a = f32[%d,4,4] parameter(0)
      b = f32[%d,4,1] parameter(1)
      ROOT x = f32[%d,4,1] triangular-solve(a, b), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE)",
                               batch, batch, batch));
  };
  EXPECT_EQ(solve(10).size(), 1u);
  EXPECT_TRUE(solve(1000).empty());
}

TEST_F(LinearAlgebraRewriterTest, TinyMatricesInALoopAreKernels) {
  const auto calls_in_loop = [&](absl::string_view shape) {
    module_ = ParseModule(absl::StrReplaceAll(kCholeskyInLoop, {{"%s", shape}}));
    EXPECT_TRUE(LinearAlgebraRewriter(target_).Run(module_.get()).ok());
    size_t calls = 0;
    for (const xla::HloComputation* computation : module_->computations()) {
      for (const HloInstruction* instruction : computation->instructions()) {
        calls += instruction->IsCustomCall(kCholeskyTarget);
      }
    }
    return calls;
  };
  EXPECT_EQ(calls_in_loop("2,2"), 0u);
  // A kernel of the whole loop computes the calls (small_linear_algebra.h).
  EXPECT_EQ(calls_in_loop("3,3"), 1u);
  EXPECT_EQ(calls_in_loop("8,8"), 1u);
  EXPECT_EQ(calls_in_loop("100,4,4"), 1u);
}

// The layouts that a call has after the pass, and how many copies it took.
size_t CopiesFor(absl::string_view text) {
  const auto module = ParseModule(text);
  if (module == nullptr) return 99;
  EXPECT_TRUE(LinearAlgebraLayouts().Run(module.get()).ok());
  return Instructions(*module, HloOpcode::kCopy).size();
}

TEST(LinearAlgebraLayoutsTest, ATransformTakesAnyBatchThatIsTogether) {
  constexpr absl::string_view kModule = R"(HloModule m
ENTRY e {
  x = c64[4,8,16]%s parameter(0)
  ROOT y = c64[4,8,16]%s custom-call(x), custom_call_target="onemkl-fft", api_version=API_VERSION_TYPED_FFI, backend_config="{dimensions = 1 : i64, kind = 0 : i32}"
})";
  const auto module = [&](const char* source, const char* destination) {
    std::string text(kModule);
    text.replace(text.find("%s"), 2, source);
    text.replace(text.find("%s"), 2, destination);
    return text;
  };
  EXPECT_EQ(CopiesFor(module("{2,1,0}", "{2,1,0}")), 0u);
  EXPECT_EQ(CopiesFor(module("{1,0,2}", "{2,1,0}")), 0u);  // the transform's dimension outermost
  EXPECT_EQ(CopiesFor(module("{0,1,2}", "{2,1,0}")), 1u);  // the batch the other way round
  EXPECT_EQ(CopiesFor(module("{1,2,0}", "{1,2,0}")), 2u);  // the transform amid the batch
}

TEST(LinearAlgebraLayoutsTest, ASolveTakesRowsAndColumns) {
  constexpr absl::string_view kModule = R"(HloModule m
ENTRY e {
  a = c64[8,8]{0,1} parameter(0)
  b = c64[8,3]{1,0} parameter(1)
  ROOT x = c64[8,3]{1,0} custom-call(a, b), custom_call_target="onemkl-triangular-solve", api_version=API_VERSION_TYPED_FFI, output_to_operand_aliasing={{}: (1, {})}, backend_config="{left_side = true, lower = true, transpose = %s : i32, unit_diagonal = false}"
})";
  const auto module = [&](const char* transpose) {
    std::string text(kModule);
    text.replace(text.find("%s"), 2, transpose);
    return text;
  };
  EXPECT_EQ(CopiesFor(module("1")), 0u);
  EXPECT_EQ(CopiesFor(module("2")), 1u);  // conjugated and, in effect, not transposed
}

}  // namespace
}  // namespace onexpu::compiler
