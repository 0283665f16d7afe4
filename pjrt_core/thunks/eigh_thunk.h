// Eigenvalues and eigenvectors of a batch of symmetric or Hermitian matrices, in the memory of the
// vectors. Where the iteration did not converge, both are NaN.
//
// Thread-safe after creation. Borrows device memory. Blocks: the routine tells its failures at
// the end.
#ifndef PJRT_CORE_THUNKS_EIGH_THUNK_H_
#define PJRT_CORE_THUNKS_EIGH_THUNK_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/matrix_batch.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class EighThunk final : public Thunk {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::EighThunk& eigh,
                                                       const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override;
  size_t scratch_bytes() const override { return scratch_bytes_; }
  bool blocks() const override { return true; }
  absl::string_view kind() const override { return "eigh"; }

 private:
  using Thunk::Thunk;
  template <typename T>
  absl::Status Run(const ExecuteContext& context) const;

  program::ElementType type_ = program::ElementType::F32;
  program::Slice operand_;
  program::Slice vectors_;
  program::Slice values_;
  MatrixBatch matrices_;
  bool lower_ = true;
  size_t scratch_bytes_ = 0;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_EIGH_THUNK_H_
