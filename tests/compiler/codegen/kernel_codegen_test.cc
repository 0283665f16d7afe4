// What of code generation behaviour cannot show: how many kernels there are, and what is in them.
#include "pjrt_core/compiler/codegen/kernel_codegen.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pjrt_core/compiler/codegen/kernel_launch.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/service/buffer_assignment.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kWorker[] = "pjrt_core/compiler/codegen/llvm/spirv_worker/onexpu-spirv";

int CountOf(absl::string_view text, absl::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class KernelCodegenTest : public ::testing::Test {
 protected:
  // Schedules the module as it is written, assigns buffers and emits every fusion of the entry
  // computation.
  absl::StatusOr<std::vector<std::vector<KernelLaunch>>> EmitAll(absl::string_view hlo,
                                                                 Target target = {}) {
    auto module = xla::ParseAndReturnUnverifiedModule(hlo);
    if (!module.ok()) return module.status();
    module_ = *std::move(module);
    xla::HloSchedule schedule(module_.get());
    for (xla::HloComputation* computation : module_->MakeNonfusionComputations()) {
      schedule.set_sequence(computation,
                            xla::HloInstructionSequence(computation->MakeInstructionPostOrder()));
    }
    if (absl::Status status = module_->set_schedule(std::move(schedule)); !status.ok())
      return status;
    auto size = [](const xla::BufferValue& buffer) {
      return xla::ShapeUtil::ByteSizeOf(buffer.shape(), 8);
    };
    xla::BufferAssigner::Options options;
    options.allocate_buffers_for_constants = true;
    auto assignment = xla::BufferAssigner::Run(
        module_.get(), std::make_unique<xla::SequentialHloOrdering>(module_->schedule()), size,
        &alias_info_, [](xla::LogicalBuffer::Color) { return int64_t{64}; }, std::move(options));
    if (!assignment.ok()) return assignment.status();
    assignment_ = *std::move(assignment);
    CodegenOptions codegen_options;
    codegen_options.target = std::move(target);
    codegen_options.spirv_worker = kWorker;
    codegen_options.keep_ir = true;
    auto codegen = KernelCodegen::Create(*assignment_, std::move(codegen_options));
    if (!codegen.ok()) return codegen.status();
    codegen_ = *std::move(codegen);
    std::vector<std::vector<KernelLaunch>> launches;
    for (const xla::HloInstruction* instruction :
         module_->entry_computation()->MakeInstructionPostOrder()) {
      if (instruction->opcode() != xla::HloOpcode::kFusion) continue;
      auto launch = codegen_->Emit(*instruction);
      if (!launch.ok()) return launch.status();
      launches.push_back(*std::move(launch));
    }
    return launches;
  }

  std::string Ir() {
    auto modules = codegen_->Finish();
    EXPECT_TRUE(modules.ok()) << modules.status();
    std::string ir;
    if (modules.ok()) {
      for (const CompiledModule& module : *modules) ir += module.ir_before;
    }
    return ir;
  }

  xla::AliasInfo alias_info_;
  std::unique_ptr<xla::HloModule> module_;
  std::unique_ptr<xla::BufferAssignment> assignment_;
  std::unique_ptr<KernelCodegen> codegen_;
};

constexpr char kThreeSubtractions[] = R"(
HloModule m
first {
  x = f32[8] parameter(0)
  y = f32[8] parameter(1)
  ROOT r = f32[8] subtract(x, y)
}
swapped {
  x = f32[8] parameter(0)
  y = f32[8] parameter(1)
  ROOT r = f32[8] subtract(y, x)
}
same_as_first {
  other_name = f32[8] parameter(0)
  y2 = f32[8] parameter(1)
  ROOT r2 = f32[8] subtract(other_name, y2)
}
ENTRY e {
  p = f32[8] parameter(0)
  q = f32[8] parameter(1)
  a = f32[8] fusion(p, q), kind=kLoop, calls=first
  b = f32[8] fusion(p, q), kind=kLoop, calls=swapped
  c = f32[8] fusion(a, b), kind=kLoop, calls=same_as_first
  ROOT r = (f32[8], f32[8], f32[8]) tuple(a, b, c)
})";

TEST_F(KernelCodegenTest, EmitsEqualFusionsOnce) {
  auto launches = EmitAll(kThreeSubtractions);
  ASSERT_TRUE(launches.ok()) << launches.status();
  ASSERT_EQ(launches->size(), 3u);
  EXPECT_EQ((*launches)[0][0].entry_point, (*launches)[2][0].entry_point);
  EXPECT_NE((*launches)[0][0].entry_point, (*launches)[1][0].entry_point);
  EXPECT_NE((*launches)[0][0].arguments[0].slice, (*launches)[2][0].arguments[0].slice);
  EXPECT_EQ(CountOf(Ir(), "define spir_kernel"), 2);
}

TEST_F(KernelCodegenTest, ConstantsTellFusionsApart) {
  constexpr char kHlo[] = R"(
HloModule m
one { x = f32[8] parameter(0)
  c = f32[8] constant({1, 2, 3, 4, 5, 6, 7, 8})
  ROOT r = f32[8] add(x, c) }
two { x = f32[8] parameter(0)
  c = f32[8] constant({1, 2, 3, 4, 5, 6, 7, 9})
  ROOT r = f32[8] add(x, c) }
ENTRY e {
  p = f32[8] parameter(0)
  a = f32[8] fusion(p), kind=kLoop, calls=one
  ROOT b = f32[8] fusion(a), kind=kLoop, calls=two
})";
  auto launches = EmitAll(kHlo);
  ASSERT_TRUE(launches.ok()) << launches.status();
  EXPECT_NE((*launches)[0][0].entry_point, (*launches)[1][0].entry_point);
}

TEST_F(KernelCodegenTest, ReducersTellFusionsApart) {
  constexpr char kHlo[] = R"(
HloModule m
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = f32[] add(x, y) }
mul { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = f32[] multiply(x, y) }
one { x = f32[8,8] parameter(0)
  c = f32[] parameter(1)
  ROOT r = f32[8] reduce(x, c), dimensions={1}, to_apply=add }
two { x = f32[8,8] parameter(0)
  c = f32[] parameter(1)
  ROOT r = f32[8] reduce(x, c), dimensions={1}, to_apply=mul }
ENTRY e {
  p = f32[8,8] parameter(0)
  q = f32[] parameter(1)
  a = f32[8] fusion(p, q), kind=kLoop, calls=one
  b = f32[8] fusion(p, q), kind=kLoop, calls=two
  ROOT r = (f32[8], f32[8]) tuple(a, b)
})";
  auto launches = EmitAll(kHlo);
  ASSERT_TRUE(launches.ok()) << launches.status();
  EXPECT_NE((*launches)[0][0].entry_point, (*launches)[1][0].entry_point);
}

TEST_F(KernelCodegenTest, EqualLayoutsNeedNoIndexArithmetic) {
  constexpr char kHlo[] = R"(
HloModule m
f { a = f32[4096,100,3] parameter(0)
  b = f32[4096,100,3] parameter(1)
  two = f32[] constant(2)
  factor = f32[4096,100,3] broadcast(two), dimensions={}
  product = f32[4096,100,3] multiply(a, factor)
  ROOT r = f32[4096,100,3] add(product, b) }
ENTRY e {
  p = f32[4096,100,3] parameter(0)
  q = f32[4096,100,3] parameter(1)
  ROOT r = f32[4096,100,3] fusion(p, q), kind=kLoop, calls=f
})";
  auto launches = EmitAll(kHlo);
  ASSERT_TRUE(launches.ok()) << launches.status();
  const KernelLaunch& launch = (*launches)[0][0];
  EXPECT_EQ(launch.global_size[0], 4096u * 100 * 3);
  EXPECT_EQ(launch.global_size[0] % launch.local_size[0], 0u);
  auto modules = codegen_->Finish();
  ASSERT_TRUE(modules.ok()) << modules.status();
  ASSERT_EQ(modules->size(), 1);
  const std::string& ir = (*modules)[0].ir_after;
  EXPECT_THAT(ir, Not(HasSubstr("div")));
  EXPECT_THAT(ir, Not(HasSubstr("rem")));
  EXPECT_THAT(ir, Not(HasSubstr("br i1")));  // no guard: the sizes divide
  EXPECT_EQ(CountOf(ir, "noalias"), 3);
}

TEST_F(KernelCodegenTest, SharedSubexpressionsAreComputedOnce) {
  // Without memory of what was emitted, the number of additions would double with each level.
  std::string hlo = R"(
HloModule m
f { x0 = f32[8] parameter(0)
)";
  for (int i = 0; i < 30; ++i)
    absl::StrAppend(&hlo, "  x", i + 1, " = f32[8] add(x", i, ", x", i, ")\n");
  absl::StrAppend(&hlo, R"(  ROOT r = f32[8] negate(x30) }
ENTRY e {
  p = f32[8] parameter(0)
  ROOT r = f32[8] fusion(p), kind=kLoop, calls=f
})");
  auto launches = EmitAll(hlo);
  ASSERT_TRUE(launches.ok()) << launches.status();
  EXPECT_EQ(CountOf(Ir(), "fadd float"), 30);
}

TEST_F(KernelCodegenTest, UpdatesInPlaceWriteOnlyTheUpdate) {
  constexpr char kHlo[] = R"(
HloModule m
n { x = f32[64,64] parameter(0)
  ROOT r = f32[64,64] negate(x) }
f { x = f32[64,64] parameter(0)
  u = f32[2,3] parameter(1)
  i = s32[] parameter(2)
  ROOT r = f32[64,64] dynamic-update-slice(x, u, i, i) }
ENTRY e {
  p = f32[64,64] parameter(0)
  u = f32[2,3] parameter(1)
  i = s32[] parameter(2)
  a = f32[64,64] fusion(p), kind=kLoop, calls=n
  ROOT r = f32[64,64] fusion(a, u, i), kind=kLoop, calls=f
})";
  auto launches = EmitAll(kHlo);
  ASSERT_TRUE(launches.ok()) << launches.status();
  const KernelLaunch& update = (*launches)[1][0];
  EXPECT_EQ(update.arguments.size(), 3u);  // operand and result are one
  EXPECT_LE(update.global_size[0], 16u);
}

TEST_F(KernelCodegenTest, Fp64NeedsATargetThatHasIt) {
  const std::string hlo = absl::StrReplaceAll(kThreeSubtractions, {{"f32", "f64"}});
  EXPECT_TRUE(EmitAll(hlo).ok());
  Target target;
  target.name = "dg2";
  target.has_fp64 = false;
  auto launches = EmitAll(hlo, target);
  EXPECT_EQ(launches.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(launches.status().message()), HasSubstr("dg2"));
}

// A copy to another layout whose dimensions are then called by other names is a transposition.
TEST_F(KernelCodegenTest, WhatIsReadAcrossBehindABitcastComesInTiles) {
  const auto emits_tile = [&](absl::string_view copied) {
    EXPECT_TRUE(EmitAll(absl::StrReplaceAll(R"(
      HloModule m
      lower {
        x = f32[64,64]{1,0} parameter(0)
        c = f32[64,64]$copied copy(x)
        t = f32[64,64]{1,0} bitcast(c)
        ROOT n = f32[64,64]{1,0} negate(t)
      }
      ENTRY e {
        x = f32[64,64]{1,0} parameter(0)
        ROOT r = f32[64,64]{1,0} fusion(x), kind=kLoop, calls=lower
      })",
                                            {{"$copied", copied}}))
                    .ok());
    return absl::StrContains(Ir(), "addrspace(3) global");
  };
  EXPECT_TRUE(emits_tile("{0,1}"));
  EXPECT_FALSE(emits_tile("{1,0}"));
}

// As many as are built at once take kernels in turn, until they are full.
TEST_F(KernelCodegenTest, KernelsShareModules) {
  constexpr int kKernels = 400;
  std::string hlo = "HloModule m\n";
  std::string entry = "ENTRY e {\n  value0 = f32[8] parameter(0)\n";
  for (int i = 1; i <= kKernels; ++i) {
    absl::StrAppend(&hlo, "sum", i,
                    " { x = f32[8] parameter(0)\n  s = f32[8] sine(x)\n  k = f32[] constant(", i,
                    ")\n  b = f32[8] broadcast(k), dimensions={}\n  ROOT r = f32[8] add(s, b) }\n");
    absl::StrAppend(&entry, "  ", i == kKernels ? "ROOT " : "", "value", i,
                    " = f32[8] fusion(value", i - 1, "), kind=kLoop, calls=sum", i, "\n");
  }
  Target target;
  target.compute_units = 3;
  const auto launches = EmitAll(absl::StrCat(hlo, entry, "}"), target);
  ASSERT_TRUE(launches.ok()) << launches.status();
  for (int i = 0; i < 12; ++i) EXPECT_EQ((*launches)[i][0].module, i % 3);
  const auto modules = codegen_->Finish();
  ASSERT_TRUE(modules.ok()) << modules.status();
  EXPECT_GT(modules->size(), 3);
  EXPECT_LT(modules->size(), kKernels / 4);
  EXPECT_THAT((*modules)[1].name, testing::StartsWith("value2_k1_and_"));
  for (const std::vector<KernelLaunch>& launch : *launches) {
    EXPECT_EQ(CountOf((*modules)[launch[0].module].ir_after,
                      absl::StrCat("@", launch[0].entry_point, "(")),
              1);
  }
}

// An exponential that a sum and the result need is computed only in the sum's scan if a row of them
// fits: the limit is 4096 f32 elements.
TEST_F(KernelCodegenTest, ExpensiveValuesOfARowAreComputedOnce) {
  Target target;
  target.sub_group_sizes = {8, 16};
  const auto exponentials = [&](int64_t length) {
    const std::string rows = absl::StrCat("f32[64,", length, "]");
    const auto launches = EmitAll(
        absl::StrCat("HloModule m\nsum { a = f32[] parameter(0)\n",
                     "  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b) }\n",
                     "softmax { x = ", rows, " parameter(0)\n  e = ", rows,
                     " exponential(x)\n  z = f32[] constant(0)\n  s = f32[64] ",
                     "reduce(e, z), dimensions={1}, to_apply=sum\n  w = ", rows,
                     " broadcast(s), dimensions={0}\n  ROOT r = ", rows,
                     " divide(e, w) }\nENTRY e { p = ", rows, " parameter(0)\n  ROOT f = ", rows,
                     " fusion(p), kind=kLoop, calls=softmax }"),
        target);
    EXPECT_TRUE(launches.ok()) << launches.status();
    const std::string ir = Ir();
    EXPECT_NE(CountOf(ir, "sub_group_shuffle_xor"), 0);
    EXPECT_EQ(CountOf(ir, "barrier"), 0);  // nor does the driver have to write the walks apart
    constexpr absl::string_view kLog2E = "0x3FF7154760000000";  // one for each exponential
    EXPECT_NE(CountOf(ir, kLog2E), 0);
    return CountOf(ir, kLog2E);
  };
  EXPECT_EQ(exponentials(4096), exponentials(2048));
  EXPECT_GT(exponentials(4112), exponentials(2048));
}

// Lanes that lie side by side in memory are not to be run as two halves, one after the other.
TEST_F(KernelCodegenTest, AWorkGroupOfOneVectorIsOneSubGroup) {
  const auto sums_of_columns = [&](Target target) {
    const auto launches = EmitAll(R"(HloModule m
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
columns { x = f32[512,64] parameter(0)
  z = f32[] constant(0)
  ROOT s = f32[64] reduce(x, z), dimensions={0}, to_apply=sum }
ENTRY e { p = f32[512,64] parameter(0)
  ROOT f = f32[64] fusion(p), kind=kLoop, calls=columns })",
                                  std::move(target));
    EXPECT_TRUE(launches.ok()) << launches.status();
    EXPECT_THAT((*launches)[0][0].local_size, testing::ElementsAre(16));
    return Ir();
  };
  Target target;
  target.sub_group_sizes = {8, 16};
  const std::string ir = sums_of_columns(target);
  EXPECT_EQ(CountOf(ir, "!intel_reqd_sub_group_size"), 1);
  EXPECT_EQ(CountOf(ir, "!{i32 16}"), 1);
  target.sub_group_sizes = {8};
  EXPECT_EQ(CountOf(sums_of_columns(target), "!intel_reqd_sub_group_size"), 0);
}

TEST_F(KernelCodegenTest, WhatFailedLeavesNothingBehind) {
  constexpr char kHlo[] = R"(
HloModule m
good { x = f32[8] parameter(0)
  ROOT r = f32[8] negate(x) }
better { x = f32[8] parameter(0)
  ROOT r = f32[8] sine(x) }
bad { x = f32[8] parameter(0)
  s = f32[8] sine(x)
  ROOT r = f32[1] custom-call(s), custom_call_target="unknown" }
ENTRY e {
  p = f32[8] parameter(0)
  a = f32[8] fusion(p), kind=kLoop, calls=good
  b = f32[8] fusion(a), kind=kLoop, calls=better
  ROOT c = f32[1] fusion(b), kind=kLoop, calls=bad
})";
  // One compute unit has two modules at once: the third kernel begins in one of them.
  auto launches = EmitAll(kHlo);
  EXPECT_EQ(launches.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(launches.status().message()), HasSubstr("custom-call(f32[8]) -> f32[1]"));
  EXPECT_EQ(CountOf(Ir(), "define spir_kernel"), 2);
}

}  // namespace
}  // namespace onexpu::compiler
