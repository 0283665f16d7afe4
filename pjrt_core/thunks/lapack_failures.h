// What LAPACK's routines throw about matrices that they cannot factor, as data: the caller fills
// those results with NaN, or tells them as info. Stateless.
#ifndef PJRT_CORE_THUNKS_LAPACK_FAILURES_H_
#define PJRT_CORE_THUNKS_LAPACK_FAILURES_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/functional/function_ref.h"
#include "pjrt_core/thunks/mkl_types.h"
#include "sycl/sycl.hpp"

namespace onexpu {

// Numbers of the matrices in their batch, in order.
using LapackFailures = std::vector<int64_t>;

// Submits a routine over `count` matrices and waits for it. An error for everything but a
// computation that failed.
absl::StatusOr<LapackFailures> WaitForLapack(int64_t count,
                                             absl::FunctionRef<sycl::event()> submit);

// As part of the queue's order. The elements are contiguous.
template <typename T>
void FillWithNan(sycl::queue& queue, T* elements, int64_t count) {
  using Real = RealOf<T>;
  queue.fill(reinterpret_cast<Real*>(elements), std::numeric_limits<Real>::quiet_NaN(),
             count * (sizeof(T) / sizeof(Real)));
}

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_LAPACK_FAILURES_H_
