// Factors a batch of symmetric or Hermitian positive-definite matrices, in the memory of the
// result. A matrix that is not positive definite, or holds NaN, becomes NaN altogether; the others
// of its batch are as if it were not there.
//
// Thread-safe after creation. Borrows device memory. Blocks: LAPACK's routines tell their failures
// at the end.
#ifndef PJRT_CORE_THUNKS_CHOLESKY_THUNK_H_
#define PJRT_CORE_THUNKS_CHOLESKY_THUNK_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/matrix_batch.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class CholeskyThunk final : public Thunk {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::CholeskyThunk& cholesky,
                                                       const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override;
  size_t scratch_bytes() const override { return scratch_bytes_; }
  bool blocks() const override { return true; }
  absl::string_view kind() const override { return "cholesky"; }

 private:
  using Thunk::Thunk;
  template <typename T>
  absl::Status Run(const ExecuteContext& context) const;

  program::ElementType type_ = program::ElementType::F32;
  program::Slice operand_;
  program::Slice result_;
  MatrixBatch matrices_;
  bool lower_ = true;  // as columns are contiguous
  int64_t leading_ = 1;
  size_t scratch_bytes_ = 0;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_CHOLESKY_THUNK_H_
