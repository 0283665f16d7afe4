// A LapackBatch as a thunk's one command. Thread-safe. Borrows device memory.
#ifndef PJRT_CORE_THUNKS_ONEMKL_LAPACK_HOST_CALL_H_
#define PJRT_CORE_THUNKS_ONEMKL_LAPACK_HOST_CALL_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "pjrt_core/cpu_device/host_call.h"
#include "pjrt_core/cpu_device/lapack_batch.h"
#include "pjrt_core/thunks/onemkl/matrix_batch.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class LapackHostCall {
 public:
  // The arguments of LapackBatch::Run, up to four, without scratch.
  using Arrays = absl::InlinedVector<program::Slice, 4>;

  // Whether the device calls functions of the host. Otherwise thunks call oneMKL's SYCL routines.
  static bool IsAvailable(const LoadContext& load) { return load.host_call_kernel != nullptr; }

  // Null if `batch` is.
  static absl::StatusOr<std::unique_ptr<const LapackHostCall>> Create(
      const LoadContext& load, std::unique_ptr<const LapackBatch> batch, Arrays arrays);

  size_t scratch_bytes() const { return batch_->scratch_bytes(); }
  // Throws sycl::exception.
  void Submit(const ExecuteContext& context) const;

 private:
  LapackHostCall(std::unique_ptr<const LapackBatch> batch, Arrays arrays, sycl::kernel kernel)
      : batch_(std::move(batch)), arrays_(std::move(arrays)), host_call_(std::move(kernel)) {}

  const std::unique_ptr<const LapackBatch> batch_;
  const Arrays arrays_;
  const HostCall host_call_;
};

// Matrices that have contiguous columns.
inline ColumnMajorBatch ColumnsOf(const MatrixBatch& matrices) {
  return {matrices.rows, matrices.columns, matrices.column_stride, matrices.distance,
          matrices.count};
}

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEMKL_LAPACK_HOST_CALL_H_
