// Factors a batch of matrices into triangles with partial pivoting, in the memory of the result.
// A singular matrix has a factor with a zero on its diagonal, which is no failure. The permutation
// is made of the pivots on the host.
//
// Thread-safe after creation. Borrows device memory.
#ifndef PJRT_CORE_THUNKS_ONEMKL_LU_THUNK_H_
#define PJRT_CORE_THUNKS_ONEMKL_LU_THUNK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/onemkl/lapack_thunk.h"

namespace onexpu {

class LuThunk final : public LapackThunk<LuThunk> {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::LuThunk& lu,
                                                       const LoadContext& load);

  absl::string_view kind() const override { return "lu"; }

 private:
  friend class LapackThunk<LuThunk>;
  using LapackThunk::LapackThunk;

  template <typename T>
  size_t ScratchBytes(sycl::queue& queue) const;
  template <typename T>
  absl::Status Run(const ExecuteContext& context) const;
  std::unique_ptr<const LapackBatch> MakeBatch(program::ElementType type) const {
    return MakeLuBatch(type, ColumnsOf(matrices()));
  }
  LapackHostCall::Arrays OtherArrays() const { return {pivots_, permutation_}; }

  int64_t exchanges() const { return std::min(matrices().rows, matrices().columns); }
  // Of the routine's scratch, behind the library's pivots.
  size_t routine_offset() const {
    return AlignScratch(matrices().count * exchanges() * sizeof(int64_t));
  }

  program::Slice pivots_;
  program::Slice permutation_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEMKL_LU_THUNK_H_
