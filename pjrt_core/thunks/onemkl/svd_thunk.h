// Computes the singular values of a batch of matrices, and their vectors if requested. If the
// iteration does not converge, all of them are NaN.
//
// Thread-safe after creation. Borrows device memory. Blocks, unless the routine is a function of
// the host: the SYCL routine reports errors on completion, on its own queue.
#ifndef PJRT_CORE_THUNKS_ONEMKL_SVD_THUNK_H_
#define PJRT_CORE_THUNKS_ONEMKL_SVD_THUNK_H_

#include <cstddef>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "pjrt_core/thunks/onemkl/lapack_call.h"
#include "pjrt_core/thunks/onemkl/lapack_host_call.h"
#include "pjrt_core/thunks/onemkl/matrix_batch.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class SvdThunk final : public Thunk {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::SvdThunk& svd,
                                                       const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override;
  size_t scratch_bytes() const override { return scratch_bytes_; }
  bool blocks() const override { return call_ == nullptr; }
  bool follows_queue() const override { return call_ != nullptr; }
  absl::string_view kind() const override { return "svd"; }

  struct Vectors {
    program::Slice slice;
    MatrixBatch matrices;
  };

 private:
  using Thunk::Thunk;
  absl::Status CreateHostCall(const LoadContext& load);
  template <typename T>
  absl::Status Run(const ExecuteContext& context);

  program::ElementType type_ = program::ElementType::F32;
  program::Slice operand_;
  program::Slice values_;
  std::optional<Vectors> left_;   // U
  std::optional<Vectors> right_;  // V, transposed and conjugated
  MatrixBatch matrices_;
  std::unique_ptr<const LapackHostCall> call_;
  size_t routine_offset_ = 0;  // of its scratch, behind a matrix that it may destroy
  size_t scratch_bytes_ = 0;
  absl::Mutex mutex_;
  std::optional<LapackQueue> queue_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEMKL_SVD_THUNK_H_
