// Whether a device takes a SPIR-V module: asked before its driver is given the module, because
// drivers end the process over some that they do not know. Any thread.
#ifndef CUSTOM_KERNELS_DEVICE_SUPPORT_H_
#define CUSTOM_KERNELS_DEVICE_SUPPORT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "sycl/sycl.hpp"

namespace onexpu {

// UNIMPLEMENTED with what the device lacks: addresses of 64 bits in the module, capabilities,
// extensions, the version of SPIR-V. The sentence begins with a verb: "needs ...". Throws
// sycl::exception.
absl::Status CheckDeviceSupport(const sycl::device& device, absl::Span<const uint8_t> spirv);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_DEVICE_SUPPORT_H_
