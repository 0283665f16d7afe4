// Factors a batch of matrices into Householder reflectors and a triangle, in the memory of the
// result.
//
// Thread-safe after creation. Borrows device memory.
#ifndef PJRT_CORE_THUNKS_ONEMKL_QR_THUNK_H_
#define PJRT_CORE_THUNKS_ONEMKL_QR_THUNK_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/onemkl/lapack_thunk.h"

namespace onexpu {

class QrThunk final : public LapackThunk<QrThunk> {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::QrThunk& qr,
                                                       const LoadContext& load);

  absl::string_view kind() const override { return "qr"; }

 private:
  friend class LapackThunk<QrThunk>;
  using LapackThunk::LapackThunk;

  template <typename T>
  size_t ScratchBytes(sycl::queue& queue) const;
  template <typename T>
  absl::Status Run(const ExecuteContext& context) const;
  std::unique_ptr<const LapackBatch> MakeBatch(program::ElementType type) const {
    return MakeQrBatch(type, ColumnsOf(matrices()));
  }
  LapackHostCall::Arrays OtherArrays() const { return {taus_}; }

  program::Slice taus_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEMKL_QR_THUNK_H_
