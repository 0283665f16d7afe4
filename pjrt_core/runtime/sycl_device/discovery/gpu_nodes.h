// The device nodes of Intel GPUs, to explain why no GPU could be opened.
#ifndef PJRT_CORE_RUNTIME_SYCL_DEVICE_DISCOVERY_GPU_NODES_H_
#define PJRT_CORE_RUNTIME_SYCL_DEVICE_DISCOVERY_GPU_NODES_H_

#include <string>
#include <vector>

#include "pjrt_core/runtime/sycl_device/discovery/level_zero_loader.h"

namespace onexpu {

struct GpuNode {
  std::string path;            // "/dev/dri/renderD128"; "/dev/dxg" under WSL2.
  std::string group;           // The group that owns it: "render".
  bool is_accessible = false;  // This process may read and write it.
};

// Render nodes of Intel GPUs, and WSL2's paravirtual GPU. The arguments are for tests.
std::vector<GpuNode> FindGpuNodes(const std::string& device_root = "/dev",
                                  const std::string& system_root = "/sys");

// Why none of the machine's GPUs was opened and what to do, in one sentence or two; empty if
// there is no GPU. `driver_error` is SYCL's error message, or empty.
std::string ExplainUnusedGpus(const std::vector<GpuNode>& nodes, const LevelZeroLoader& loader,
                              const std::string& driver_error);

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_SYCL_DEVICE_DISCOVERY_GPU_NODES_H_
