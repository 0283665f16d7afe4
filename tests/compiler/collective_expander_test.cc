// Which exchanges a collective becomes, among whom.
#include "pjrt_core/compiler/passes/collectives/collective_expander.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pjrt_core/compiler/passes/collectives/collective_call.h"
#include "tests/compiler/hlo_test_util.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace onexpu::compiler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using xla::HloOpcode;

class CollectiveExpanderTest : public ::testing::Test {
 protected:
  // "target groups" of each exchange, in their order.
  std::vector<std::string> Run(absl::string_view body, int replicas, int partitions) {
    module_ = ParseModule(
        absl::StrCat("HloModule m\nadd {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                     " ROOT c = f32[] add(a, b)\n}\nENTRY e {\n",
                     body, "\n}\n"));
    if (module_ == nullptr) return {};
    module_->mutable_config().set_replica_count(replicas);
    module_->mutable_config().set_num_partitions(partitions);
    status_ = CollectiveExpander().Run(module_.get()).status();
    std::vector<std::string> exchanges;
    for (const auto* call : Instructions(*module_, HloOpcode::kCustomCall)) {
      exchanges.push_back(
          absl::StrCat(call->custom_call_target(), " ", call->raw_backend_config_string()));
    }
    return exchanges;
  }

  absl::Status status_;
  std::unique_ptr<xla::HloModule> module_;
};

TEST_F(CollectiveExpanderTest, ASmallSumIsOneExchange) {
  EXPECT_THAT(Run(R"(
    x = f32[10] parameter(0)
    ROOT y = f32[10] all-reduce(x), replica_groups={}, to_apply=add)",
                  3, 1),
              ElementsAre("onexpu-all-gather 0,1,2"));
  EXPECT_EQ(Instructions(*module_, HloOpcode::kMap).size(), 2u);
}

TEST_F(CollectiveExpanderTest, ALargeSumScattersAndGathers) {
  EXPECT_THAT(Run(R"(
    x = f32[1000001] parameter(0)
    ROOT y = f32[1000001] all-reduce(x), replica_groups={}, to_apply=add)",
                  4, 1),
              ElementsAre("onexpu-all-to-all 0,1,2,3", "onexpu-all-gather 0,1,2,3"));
}

TEST_F(CollectiveExpanderTest, GroupsOfReplicasAreInEveryPartition) {
  EXPECT_THAT(Run(R"(
    x = f32[10] parameter(0)
    ROOT y = f32[20] all-gather(x), replica_groups={{0,1}}, dimensions={0})",
                  2, 3),
              ElementsAre("onexpu-all-gather 0,3;1,4;2,5"));
}

TEST_F(CollectiveExpanderTest, GroupsOfGlobalNumbers) {
  EXPECT_THAT(Run(R"(
    x = f32[10] parameter(0)
    ROOT y = f32[10] all-reduce(x), channel_id=1, use_global_device_ids=true,
      replica_groups={{0,3},{1,2}}, to_apply=add)",
                  1, 4),
              ElementsAre("onexpu-all-gather 0,3;1,2"));
}

TEST_F(CollectiveExpanderTest, PermutationsAcrossPartitionsAreInEveryReplica) {
  EXPECT_THAT(Run(R"(
    x = f32[10] parameter(0)
    ROOT y = f32[10] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,0}})",
                  2, 2),
              ElementsAre("onexpu-permute 0,1;2,3;1,0;3,2"));
}

TEST_F(CollectiveExpanderTest, GroupsOfOneExchangeNothing) {
  EXPECT_THAT(Run(R"(
    x = f32[10] parameter(0)
    ROOT y = f32[10] all-reduce(x), replica_groups={{0},{1}}, to_apply=add)",
                  2, 1),
              IsEmpty());
  EXPECT_EQ(module_->entry_computation()->root_instruction()->opcode(), HloOpcode::kParameter);
}

TEST_F(CollectiveExpanderTest, AModuleAloneExchangesNothing) {
  EXPECT_THAT(Run(R"(
    x = f32[10] parameter(0)
    y = f32[10] all-reduce(x), replica_groups={}, to_apply=add
    z = f32[10] collective-permute(y), source_target_pairs={}
    p = u32[] partition-id()
    ROOT t = (f32[10], u32[]) tuple(z, p))",
                  1, 1),
              IsEmpty());
  EXPECT_EQ(status_, absl::OkStatus());
}

TEST_F(CollectiveExpanderTest, GroupsOfDifferentSizeTakeTheirPartOfEverything) {
  EXPECT_THAT(Run(R"(
    x = f32[10] parameter(0)
    ROOT y = f32[10] all-reduce(x), replica_groups={{0,2,3},{1}}, to_apply=add)",
                  4, 1),
              UnorderedElementsAre(HasSubstr("replica"), HasSubstr("partition"),
                                   "onexpu-all-gather 0,1,2,3"));
  EXPECT_EQ(Instructions(*module_, HloOpcode::kMap).size(), 2u);
}

TEST_F(CollectiveExpanderTest, WhatIsMissingIsNamed) {
  Run(R"(
    x = f32[10] parameter(0)
    ROOT y = f32[20] all-gather(x), replica_groups={{0,1},{2}}, dimensions={0})",
      3, 1);
  EXPECT_EQ(status_.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(status_.message(),
              HasSubstr("all-gather y of f32[10] among several devices: its groups differ"));
}

}  // namespace
}  // namespace onexpu::compiler
