// What the tests of the library passes share.
#ifndef ONEXPU_TESTS_COMPILER_LIBRARY_PASSES_TEST_UTIL_H_
#define ONEXPU_TESTS_COMPILER_LIBRARY_PASSES_TEST_UTIL_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "pjrt_core/compiler/passes/onednn/convolution_rewriter.h"
#include "pjrt_core/compiler/passes/onednn/epilogue_fusion.h"
#include "pjrt_core/compiler/passes/onednn/library_call.h"
#include "pjrt_core/compiler/passes/onednn/matmul_rewriter.h"
#include "tests/compiler/hlo_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"

namespace onexpu::compiler {

// Runs the library passes on a module of one entry computation, without what is dead in it; gives
// the library calls.
class LibraryPassesTest : public ::testing::Test {
 protected:
  std::vector<xla::HloInstruction*> Run(absl::string_view body) {
    module_ = ParseModule(absl::StrCat("HloModule m\nENTRY e {\n", body, "\n}\n"));
    if (module_ == nullptr) return {};
    EXPECT_TRUE(xla::HloDCE().Run(module_.get()).ok());
    const Target target = MakeTarget();
    EXPECT_TRUE(MatmulRewriter(target).Run(module_.get()).ok());
    EXPECT_TRUE(ConvolutionRewriter(target).Run(module_.get()).ok());
    EXPECT_TRUE(EpilogueFusion(target, /*layout_sensitive=*/false).Run(module_.get()).ok());
    EXPECT_TRUE(xla::HloDCE().Run(module_.get()).ok());
    return Instructions(*module_, xla::HloOpcode::kCustomCall);
  }
  // And what runs again when there are layouts: those of the text.
  std::vector<xla::HloInstruction*> RunWithLayouts(absl::string_view body) {
    Run(body);
    const Target target = MakeTarget();
    EXPECT_TRUE(EpilogueFusion(target, /*layout_sensitive=*/true).Run(module_.get()).ok());
    EXPECT_TRUE(xla::HloDCE().Run(module_.get()).ok());
    return Instructions(*module_, xla::HloOpcode::kCustomCall);
  }
  Target MakeTarget() const {
    Target target;
    target.has_bf16 = true;
    target.has_s8 = has_s8_;
    if (gpu_schedules_) target.schedules = &GpuSchedulePolicy();
    return target;
  }
  size_t Count(xla::HloOpcode opcode) { return Instructions(*module_, opcode).size(); }

  std::unique_ptr<xla::HloModule> module_;
  bool gpu_schedules_ = false;
  bool has_s8_ = false;
};

// The epilogue of a matmul.
inline Epilogue MatmulEpilogue(const xla::HloInstruction& call) {
  return MatmulConfigOf(call)->epilogue;
}

}  // namespace onexpu::compiler

#endif  // ONEXPU_TESTS_COMPILER_LIBRARY_PASSES_TEST_UTIL_H_
