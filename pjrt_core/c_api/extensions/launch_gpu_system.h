// The functions of OnexpuLaunchExtension about the system's GPUs.
#ifndef PJRT_CORE_C_API_EXTENSIONS_LAUNCH_GPU_SYSTEM_H_
#define PJRT_CORE_C_API_EXTENSIONS_LAUNCH_GPU_SYSTEM_H_

#include "absl/status/status.h"
#include "pjrt_core/c_api/extensions/launch.h"

namespace onexpu::c_api {

absl::Status DescribeGpus(OnexpuDescribeGpusArgs& args);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXTENSIONS_LAUNCH_GPU_SYSTEM_H_
