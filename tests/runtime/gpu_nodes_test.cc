// Tests the explanations of unused GPUs.
#include "pjrt_core/runtime/sycl_device/discovery/gpu_nodes.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onexpu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class GpuNodesTest : public ::testing::Test {
 protected:
  void AddNode(const std::string& name, const std::string& vendor) {
    const std::filesystem::path device = root_ / "sys/class/drm" / name / "device";
    std::filesystem::create_directories(device);
    std::ofstream(device / "vendor") << vendor << "\n";
    std::filesystem::create_directories(root_ / "dev/dri");
    std::ofstream(root_ / "dev/dri" / name);
  }
  std::vector<GpuNode> Find() { return FindGpuNodes(root_ / "dev", root_ / "sys"); }

  const std::filesystem::path root_ =
      std::filesystem::path(::testing::TempDir()) /
      ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

const LevelZeroLoader kNoLoader;
const LevelZeroLoader kOldLoader{"/lib/libze_loader.so.1.8.0", "1.8.0", false, false};
const LevelZeroLoader kLoader{"/lib/libze_loader.so.1.32.0", "1.32.0", true, true};

TEST_F(GpuNodesTest, NoDirectory) { EXPECT_TRUE(Find().empty()); }

TEST_F(GpuNodesTest, OnlyIntelRenderNodes) {
  AddNode("renderD128", "0x10de");
  AddNode("renderD129", "0x8086");
  AddNode("card0", "0x8086");
  const std::vector<GpuNode> nodes = Find();
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_THAT(nodes.front().path, HasSubstr("renderD129"));
  EXPECT_TRUE(nodes.front().is_accessible);
}

TEST_F(GpuNodesTest, ParavirtualGpu) {
  std::filesystem::create_directories(root_ / "dev");
  std::ofstream(root_ / "dev/dxg");
  ASSERT_EQ(Find().size(), 1u);
  EXPECT_THAT(Find().front().path, HasSubstr("dxg"));
}

TEST(ExplainUnusedGpusTest, SaysWhatToDo) {
  const GpuNode node{"/dev/dri/renderD128", "render", true};
  const GpuNode closed{"/dev/dri/renderD128", "render", false};
  EXPECT_EQ(ExplainUnusedGpus({}, kNoLoader, ""), "");
  EXPECT_THAT(ExplainUnusedGpus({closed}, kLoader, ""), HasSubstr("usermod -aG render"));
  EXPECT_THAT(ExplainUnusedGpus({node, closed}, kLoader, ""), HasSubstr("no permission"));
  EXPECT_THAT(ExplainUnusedGpus({node}, kNoLoader, ""), HasSubstr("Install libze1"));
  EXPECT_THAT(ExplainUnusedGpus({node}, kOldLoader, ""),
              AllOf(HasSubstr("libze_loader 1.8.0"), HasSubstr("is too old for SYCL")));
  EXPECT_THAT(ExplainUnusedGpus({node}, kLoader, "error 7"), HasSubstr("error 7"));
  EXPECT_THAT(ExplainUnusedGpus({node}, kLoader, ""), HasSubstr("libze-intel-gpu1"));
}

}  // namespace
}  // namespace onexpu
