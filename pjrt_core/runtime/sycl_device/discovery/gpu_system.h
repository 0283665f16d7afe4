// What the system offers for Intel GPUs: the Level Zero loader, SYCL's adapter and device nodes.
#ifndef PJRT_CORE_RUNTIME_SYCL_DEVICE_DISCOVERY_GPU_SYSTEM_H_
#define PJRT_CORE_RUNTIME_SYCL_DEVICE_DISCOVERY_GPU_SYSTEM_H_

#include <string>
#include <vector>

namespace onexpu {

struct SystemFact {
  std::string name;
  std::string value;
  std::string advice;  // What to do; empty if nothing.
};

// Starts neither SYCL nor a driver. Any thread.
std::vector<SystemFact> DescribeGpuSystem();

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_SYCL_DEVICE_DISCOVERY_GPU_SYSTEM_H_
