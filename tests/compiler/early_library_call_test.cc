// The order of a program around its first library call.
#include "pjrt_core/compiler/passes/onednn/early_library_call.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tests/compiler/hlo_test_util.h"
#include "xla/hlo/ir/hlo_schedule.h"

namespace onexpu::compiler {
namespace {

std::vector<std::string> OrderAfter(absl::string_view text) {
  const std::unique_ptr<xla::HloModule> module = ParseModule(text);
  EXPECT_TRUE(EarlyLibraryCall().Run(module.get()).ok());
  EXPECT_TRUE(module->schedule().Verify().ok());
  std::vector<std::string> names;
  for (const auto* instruction :
       module->schedule().sequence(module->entry_computation()).instructions()) {
    names.emplace_back(instruction->name());
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(EarlyLibraryCallTest, MovesTheFirstCallAndWhatItNeeds) {
  EXPECT_EQ(OrderAfter(R"(HloModule m, is_scheduled=true
ENTRY e {
  x = f32[8,8] parameter(0)
  labels = s32[8] parameter(1)
  same = pred[8] compare(labels, labels), direction=EQ
  before = f32[8,8] negate(x)
  y = f32[8,8] parameter(2)
  product = f32[8,8] custom-call(before, y), custom_call_target="onednn-matmul"
  sum = f32[8,8] add(product, x)
  second = f32[8,8] custom-call(sum, y), custom_call_target="onednn-matmul"
  ROOT r = (f32[8,8], pred[8]) tuple(second, same)
})"),
            (Names{"x", "labels", "before", "y", "product", "same", "sum", "second", "r"}));
}

TEST(EarlyLibraryCallTest, KeepsWhatMustComeBefore) {
  EXPECT_EQ(OrderAfter(R"(HloModule m, is_scheduled=true
ENTRY e {
  x = f32[8,8] parameter(0)
  other = f32[8,8] exponential(x)
  last_read = f32[8,8] negate(x)
  product = f32[8,8] custom-call(x, x), custom_call_target="onednn-matmul", control-predecessors={last_read}
  ROOT r = (f32[8,8], f32[8,8], f32[8,8]) tuple(product, last_read, other)
})"),
            (Names{"x", "last_read", "product", "other", "r"}));
}

TEST(EarlyLibraryCallTest, LeavesProgramsWithoutLibraryCalls) {
  EXPECT_EQ(OrderAfter(R"(HloModule m, is_scheduled=true
ENTRY e {
  x = f32[8] parameter(0)
  a = f32[8] negate(x)
  ROOT b = f32[8] exponential(x)
})"),
            (Names{"x", "a", "b"}));
}

TEST(EarlyLibraryCallTest, WantsASchedule) {
  const std::unique_ptr<xla::HloModule> module = ParseModule(R"(HloModule m
ENTRY e {
  ROOT x = f32[8] parameter(0)
})");
  EXPECT_EQ(EarlyLibraryCall().Run(module.get()).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace onexpu::compiler
