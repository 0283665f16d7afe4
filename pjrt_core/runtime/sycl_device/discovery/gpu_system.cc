#include "pjrt_core/runtime/sycl_device/discovery/gpu_system.h"

#include "absl/strings/str_cat.h"
#include "pjrt_core/runtime/sycl_device/discovery/gpu_nodes.h"
#include "pjrt_core/runtime/sycl_device/discovery/level_zero_loader.h"

namespace onexpu {
namespace {

const char* Adapters(const LevelZeroLoader& loader) {
  if (loader.supports_adapter_v2) return "v1 and v2";
  return loader.supports_adapter_v1 ? "v1" : "none";
}

}  // namespace

std::vector<SystemFact> DescribeGpuSystem() {
  const LevelZeroLoader loader = FindLevelZeroLoader();
  const std::vector<GpuNode> nodes = FindGpuNodes();
  std::vector<SystemFact> facts;
  // Without a GPU, the loader needs no advice.
  const bool lacks_loader = !nodes.empty() && !loader.supports_adapter_v1;
  facts.push_back({"Level Zero loader", loader.Describe(),
                   lacks_loader ? ExplainUnusedGpus({nodes.front()}, loader, "") : ""});
  if (!loader.path.empty()) {
    facts.push_back({"SYCL adapters that it supports", Adapters(loader), ""});
  }
  for (const GpuNode& node : nodes) {
    facts.push_back(
        {node.path,
         absl::StrCat(node.is_accessible ? "accessible" : "not accessible", ", group ", node.group),
         node.is_accessible ? "" : ExplainUnusedGpus({node}, loader, "")});
  }
  return facts;
}

}  // namespace onexpu
