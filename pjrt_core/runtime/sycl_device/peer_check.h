// Whether copies between two GPUs arrive. Some drivers report peer access and then copy garbage, or
// lose the device.
#ifndef PJRT_CORE_RUNTIME_SYCL_DEVICE_PEER_CHECK_H_
#define PJRT_CORE_RUNTIME_SYCL_DEVICE_PEER_CHECK_H_

#include "sycl/sycl.hpp"

namespace onexpu {

// True if the runtime reports access in both directions and a copy of known bytes arrives each way.
// In that case, peer access stays enabled. Never throws, and returns within some seconds even if a
// copy hangs.
bool CopiesArrive(const sycl::device& one, const sycl::device& other);

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_SYCL_DEVICE_PEER_CHECK_H_
