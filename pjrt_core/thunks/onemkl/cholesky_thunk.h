// Factors a batch of symmetric or Hermitian positive-definite matrices, in the memory of the
// result. A matrix that is not positive definite, or holds NaN, becomes NaN altogether; the others
// of its batch are as if it were not there.
//
// Thread-safe after creation. Borrows device memory.
#ifndef PJRT_CORE_THUNKS_ONEMKL_CHOLESKY_THUNK_H_
#define PJRT_CORE_THUNKS_ONEMKL_CHOLESKY_THUNK_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/onemkl/lapack_thunk.h"

namespace onexpu {

class CholeskyThunk final : public LapackThunk<CholeskyThunk> {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::CholeskyThunk& cholesky,
                                                       const LoadContext& load);

  absl::string_view kind() const override { return "cholesky"; }

 private:
  friend class LapackThunk<CholeskyThunk>;
  using LapackThunk::LapackThunk;

  template <typename T>
  size_t ScratchBytes(sycl::queue& queue) const;
  template <typename T>
  absl::Status Run(const ExecuteContext& context) const;
  std::unique_ptr<const LapackBatch> MakeBatch(program::ElementType type) const {
    ColumnMajorBatch columns = ColumnsOf(matrices());
    columns.leading = leading_;
    return MakeCholeskyBatch(type, columns, lower_);
  }
  LapackHostCall::Arrays OtherArrays() const { return {}; }

  bool lower_ = true;  // as columns are contiguous
  int64_t leading_ = 1;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEMKL_CHOLESKY_THUNK_H_
