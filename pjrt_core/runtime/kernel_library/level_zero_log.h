// The log of Intel's graphics compiler (IGC) for a module that does not build.
//
// SYCL's build throws on failure and drops the log. So the module is built once more through the
// Level Zero API itself, which returns it. Any thread.
#ifndef PJRT_CORE_RUNTIME_KERNEL_LIBRARY_LEVEL_ZERO_LOG_H_
#define PJRT_CORE_RUNTIME_KERNEL_LIBRARY_LEVEL_ZERO_LOG_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "sycl/sycl.hpp"

namespace onexpu {

// Empty if the device is not a Level Zero device, the loader cannot be found, or the build succeeds
// this time.
std::string LevelZeroBuildLog(const sycl::context& context, const sycl::device& device,
                              absl::Span<const uint8_t> spirv, const char* options);

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_KERNEL_LIBRARY_LEVEL_ZERO_LOG_H_
