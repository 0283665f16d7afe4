// Results of bounded dynamic size become static ones, whose elements are packed, and their sizes
// another result. What the packed arrays hold is tested where programs run
// (tests/c_api/test_dynamic_results.py).
#include "pjrt_core/compiler/passes/dynamic_shapes/dynamic_results.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compiler/hlo_test_util.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"

namespace onexpu::compiler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::unique_ptr<xla::HloModule> Parse(const std::string& text) {
  std::unique_ptr<xla::HloModule> module = ParseModule(text);
  module->mutable_entry_computation_layout()->SetToDefaultLayout();
  return module;
}

// A static result between two of dynamic size.
std::unique_ptr<xla::HloModule> ThreeResults(const std::string& header = "") {
  return Parse("HloModule m" + header + R"(
ENTRY e {
  x = f32[6,4] parameter(0)
  y = f32[5] parameter(1)
  m = s32[] parameter(2)
  n = s32[] parameter(3)
  rows = f32[<=6,4] set-dimension-size(x, m), dimensions={0}
  both = f32[<=6,<=4] set-dimension-size(rows, n), dimensions={1}
  ROOT r = (f32[<=6,4], f32[5], f32[<=6,<=4]) tuple(rows, y, both)
}
)");
}

std::vector<std::pair<int64_t, int64_t>> Pack(xla::HloModule& module) {
  std::vector<std::pair<int64_t, int64_t>> found;
  const auto dimensions = PackDynamicResults(module);
  if (!dimensions.ok()) ADD_FAILURE() << dimensions.status();
  if (!dimensions.ok()) return found;
  for (const DynamicDimension& one : *dimensions) found.emplace_back(one.result, one.dimension);
  return found;
}

std::string ResultShape(const xla::HloModule& module) {
  return module.entry_computation()->root_instruction()->shape().ToString();
}

TEST(DynamicResultsTest, SizesAreAnotherResult) {
  auto module = ThreeResults();
  EXPECT_THAT(Pack(*module), ElementsAre(Pair(0, 0), Pair(2, 0), Pair(2, 1)));
  EXPECT_EQ(ResultShape(*module), "(f32[6,4], f32[5], f32[6,4], s32[3])");
  EXPECT_EQ(module->entry_computation_layout().result_shape().ToString(),
            "(f32[6,4], f32[5], f32[6,4], s32[3])");
  // Rows are packed as they are; what has fewer columns is gathered.
  EXPECT_EQ(Instructions(*module, xla::HloOpcode::kGather).size(), 1u);
}

TEST(DynamicResultsTest, StaticResultsStay) {
  auto module = Parse("HloModule m\nENTRY e {\n ROOT x = f32[6,4] parameter(0)\n}\n");
  const std::string before = module->ToString();
  EXPECT_TRUE(Pack(*module).empty());
  EXPECT_EQ(module->ToString(), before);
}

TEST(DynamicResultsTest, AProgramWithoutATupleGetsOne) {
  auto module = Parse(R"(HloModule m, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY e {
  x = f32[6] parameter(0)
  n = s32[] parameter(1)
  ROOT y = f32[<=6] set-dimension-size(x, n), dimensions={0}
}
)");
  EXPECT_THAT(Pack(*module), ElementsAre(Pair(0, 0)));
  EXPECT_EQ(ResultShape(*module), "(f32[6], s32[1])");
  EXPECT_FALSE(module->input_output_alias_config().ParameterHasAlias(0, {}));
}

TEST(DynamicResultsTest, StaticResultsKeepTheMemoryOfParameters) {
  auto module =
      ThreeResults(", input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, must-alias) }");
  Pack(*module);
  const xla::HloInputOutputAliasConfig& aliases = module->input_output_alias_config();
  EXPECT_FALSE(aliases.ParameterHasAlias(0, {}));
  EXPECT_TRUE(aliases.ParameterMustAlias(1, {}));
  EXPECT_EQ(aliases.GetAliasedOutput(1, {}), xla::ShapeIndex({1}));
}

void ExpectUnimplemented(xla::HloModule& module, const std::string& message) {
  const auto dimensions = PackDynamicResults(module);
  EXPECT_EQ(dimensions.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(dimensions.status().message()), HasSubstr(message));
}

TEST(DynamicResultsTest, NotOfSeveralDevices) {
  auto module = ThreeResults(", replica_count=2");
  module->mutable_config().set_replica_count(2);
  ExpectUnimplemented(*module, "f32[<=6,4]: sizes that are known only at run time, of a program");
}

TEST(DynamicResultsTest, NotInNestedTuples) {
  auto module = Parse(R"(HloModule m
ENTRY e {
  x = f32[6] parameter(0)
  n = s32[] parameter(1)
  y = f32[<=6] set-dimension-size(x, n), dimensions={0}
  inner = (f32[<=6]) tuple(y)
  ROOT r = ((f32[<=6])) tuple(inner)
}
)");
  ExpectUnimplemented(*module, "nested tuple");
}

TEST(DynamicResultsTest, NotInOtherLayouts) {
  auto module = ThreeResults();
  module->mutable_entry_computation_layout()->mutable_result_layout()->ResetLayout(
      xla::LayoutUtil::MakeLayout({0, 1}), {0});
  ExpectUnimplemented(*module, "row-major");
}

TEST(DynamicResultsTest, NotBeyondWhatAnIndexHolds) {
  auto module = Parse(R"(HloModule m
ENTRY e {
  x = s8[65536,32768] parameter(0)
  n = s32[] parameter(1)
  ROOT y = s8[<=65536,32768] set-dimension-size(x, n), dimensions={0}
}
)");
  ExpectUnimplemented(*module, "2^31 elements");
}

}  // namespace
}  // namespace onexpu::compiler
