#include "pjrt_core/c_api/extensions/launch_gpu_system.h"

#include <vector>

#include "pjrt_core/runtime/sycl_device/discovery/gpu_system.h"

namespace onexpu::c_api {

absl::Status DescribeGpus(OnexpuDescribeGpusArgs& args) {
  if (args.on_facts == nullptr) {
    return absl::InvalidArgumentError("onexpu: describe_gpus: on_facts is null");
  }
  const std::vector<SystemFact> found = DescribeGpuSystem();
  std::vector<OnexpuSystemFact> facts;
  for (const SystemFact& fact : found) {
    facts.push_back({fact.name.c_str(), fact.value.c_str(), fact.advice.c_str()});
  }
  args.on_facts(args.user, facts.data(), facts.size());
  return absl::OkStatus();
}

}  // namespace onexpu::c_api
