// What the compiler knows about the device that a program is compiled for.
#ifndef PJRT_CORE_COMPILER_TARGET_TARGET_H_
#define PJRT_CORE_COMPILER_TARGET_TARGET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "pjrt_core/compiler/target/policy.h"

namespace onexpu::compiler {

// A plain copy of program.TargetDescription, whose kind of device and set of schedules are
// policies.
struct Target {
  std::string name = "cpu";
  const DevicePolicy* device = &CpuDevicePolicy();
  const SchedulePolicy* schedules = &CpuSchedulePolicy();
  uint32_t compute_units = 1;
  uint32_t max_work_group_size = 1024;
  uint64_t local_memory_bytes = 32 << 10;
  std::vector<uint32_t> sub_group_sizes;
  bool has_fp64 = true;
  bool has_fp16 = false;
  bool has_bf16 = false;  // oneDNN primitives
  bool has_s8 = false;    // oneDNN primitives whose sums of s32 are exact
  bool has_int64_atomics = true;
  uint64_t max_allocation_bytes = 0;  // of a single allocation; 0: as large as the memory
  std::vector<std::string> spirv_extensions;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_TARGET_TARGET_H_
