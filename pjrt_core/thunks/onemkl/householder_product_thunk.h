// Multiplies Householder reflectors out, for a batch of matrices that hold them, in the memory of
// the result.
//
// Thread-safe after creation. Borrows device memory.
#ifndef PJRT_CORE_THUNKS_ONEMKL_HOUSEHOLDER_PRODUCT_THUNK_H_
#define PJRT_CORE_THUNKS_ONEMKL_HOUSEHOLDER_PRODUCT_THUNK_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/onemkl/lapack_thunk.h"

namespace onexpu {

class HouseholderProductThunk final : public LapackThunk<HouseholderProductThunk> {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(
      const program::Thunk& thunk, const program::HouseholderProductThunk& product,
      const LoadContext& load);

  absl::string_view kind() const override { return "householder-product"; }

 private:
  friend class LapackThunk<HouseholderProductThunk>;
  using LapackThunk::LapackThunk;

  template <typename T>
  size_t ScratchBytes(sycl::queue& queue) const;
  template <typename T>
  absl::Status Run(const ExecuteContext& context) const;
  std::unique_ptr<const LapackBatch> MakeBatch(program::ElementType type) const {
    return MakeHouseholderProductBatch(type, ColumnsOf(matrices()), reflectors_);
  }
  LapackHostCall::Arrays OtherArrays() const { return {taus_}; }

  program::Slice taus_;
  int64_t reflectors_ = 0;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEMKL_HOUSEHOLDER_PRODUCT_THUNK_H_
