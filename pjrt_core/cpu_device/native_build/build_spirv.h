// What `onexpu-build` does. Single-threaded.
#ifndef PJRT_CORE_CPU_DEVICE_NATIVE_BUILD_BUILD_SPIRV_H_
#define PJRT_CORE_CPU_DEVICE_NATIVE_BUILD_BUILD_SPIRV_H_

#include <string>

#include "pjrt_core/fork_server/protocol.h"

namespace onexpu {

// Loads the OpenCL drivers and their compilers, so that every child of the server finds them
// loaded.
void InitializeOpenCl();

// Builds a SPIR-V module for the CPU device with the name `device`; *output is its native binary.
fork_server::ResponseCode BuildSpirv(const std::string& spirv, const std::string& device,
                                     std::string* output);

}  // namespace onexpu

#endif  // PJRT_CORE_CPU_DEVICE_NATIVE_BUILD_BUILD_SPIRV_H_
