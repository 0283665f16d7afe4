// Shared code of the thunks of LAPACK routines. A matrix that cannot be factored is data, not an
// error: the routines throw, and this code converts the exception to a list of matrices, whose
// results the caller fills with NaN or leaves as they are. Stateless except for LapackQueue.
#ifndef PJRT_CORE_THUNKS_ONEMKL_LAPACK_CALL_H_
#define PJRT_CORE_THUNKS_ONEMKL_LAPACK_CALL_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "oneapi/mkl/types.hpp"
#include "pjrt_core/thunks/onemkl/mkl_types.h"
#include "pjrt_core/thunks/thunk.h"
#include "sycl/sycl.hpp"

namespace onexpu {

// Numbers of the matrices in their batch, in order.
using LapackFailures = std::vector<int64_t>;

// The matrices that a batched routine reported, of `count`, in order. INTERNAL if they cannot be
// told: oneMKL has reported failures without numbers, and nothing bounds the numbers.
absl::StatusOr<LapackFailures> CheckFailures(LapackFailures reported, int64_t count);

// Submits a routine over `count` matrices and waits for it; before it, for what is in the queue,
// because some routines on the CPU device look at nothing else. An error for everything but a
// computation that failed.
absl::StatusOr<LapackFailures> RunLapack(sycl::queue& queue, int64_t count,
                                         absl::FunctionRef<sycl::event()> submit);

// A queue for routines that report failed computations when they are waited for: on the device's
// own queue that would be an error of the device. Thread-compatible.
class LapackQueue {
 public:
  explicit LapackQueue(const sycl::queue& like);

  // As RunLapack; waits for `before`, too.
  absl::StatusOr<LapackFailures> Run(sycl::queue& before, int64_t count,
                                     absl::FunctionRef<void(sycl::queue& queue)> submit);

 private:
  std::shared_ptr<std::vector<std::exception_ptr>> reported_;
  sycl::queue queue_;
};

// As part of the queue's order. The elements are contiguous. Bits that are all set are a NaN.
// `sycl::queue::fill` would crash on Level Zero: it launches a kernel that only a SYCL compiler
// builds.
template <typename T>
void FillWithNan(sycl::queue& queue, T* elements, int64_t count) {
  static_assert(std::numeric_limits<RealOf<T>>::is_iec559);
  queue.memset(elements, 0xff, count * sizeof(T));
}

// The compiler may alias the routine's result and its operand if there is no other reader.
void CopyUnlessSame(const ExecuteContext& context, const program::Slice& from,
                    const program::Slice& to);

// The triangle that a routine reads.
inline oneapi::mkl::uplo Triangle(bool lower) {
  return lower ? oneapi::mkl::uplo::lower : oneapi::mkl::uplo::upper;
}

// Where the next array in the scratch arena may begin.
inline size_t AlignScratch(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEMKL_LAPACK_CALL_H_
