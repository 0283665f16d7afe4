// Which of the known targets a SYCL device is.
#ifndef PJRT_CORE_TARGET_SYCL_TARGET_H_
#define PJRT_CORE_TARGET_SYCL_TARGET_H_

#include "pjrt_core/target/known_targets.h"
#include "sycl/sycl.hpp"

namespace onexpu {

// Null for a GPU that the table lacks. "cpu" for a CPU.
const KnownTarget* FindKnownTarget(const sycl::device& device);

// How the device computes with 64-bit floats. kEmulated only if the driver's
// emulation is enabled in this process.
Fp64 Fp64Of(const sycl::device& device);

inline bool HasFp64(const sycl::device& device) { return Fp64Of(device) != Fp64::kNone; }

// Whether the device's compiler takes a negated value that is used after a barrier for the same in
// all work-items: the CPU driver (docs/developer/cpu_driver_passes.md).
inline bool MiscompilesNegations(const sycl::device& device) { return device.is_cpu(); }

}  // namespace onexpu

#endif  // PJRT_CORE_TARGET_SYCL_TARGET_H_
