// Eigenvalues and eigenvectors of a batch of symmetric or Hermitian matrices, in the memory of the
// vectors. Where the iteration did not converge, both are NaN.
//
// Thread-safe after creation. Borrows device memory.
#ifndef PJRT_CORE_THUNKS_ONEMKL_EIGH_THUNK_H_
#define PJRT_CORE_THUNKS_ONEMKL_EIGH_THUNK_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/onemkl/lapack_thunk.h"

namespace onexpu {

class EighThunk final : public LapackThunk<EighThunk> {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::EighThunk& eigh,
                                                       const LoadContext& load);

  absl::string_view kind() const override { return "eigh"; }

 private:
  friend class LapackThunk<EighThunk>;
  using LapackThunk::LapackThunk;

  template <typename T>
  size_t ScratchBytes(sycl::queue& queue) const;
  template <typename T>
  absl::Status Run(const ExecuteContext& context) const;
  std::unique_ptr<const LapackBatch> MakeBatch(program::ElementType type) const {
    return MakeEighBatch(type, ColumnsOf(matrices()), lower_);
  }
  LapackHostCall::Arrays OtherArrays() const { return {values_}; }

  program::Slice values_;
  bool lower_ = true;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEMKL_EIGH_THUNK_H_
