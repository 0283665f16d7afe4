// Factors a batch of matrices into triangles with partial pivoting, in the memory of the result.
// A singular matrix has a factor with a zero on its diagonal, which is no failure.
//
// Thread-safe after creation. Borrows device memory. Blocks: the routine tells at the end how
// it went, and the permutation is made of the pivots on the host.
#ifndef PJRT_CORE_THUNKS_LU_THUNK_H_
#define PJRT_CORE_THUNKS_LU_THUNK_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/matrix_batch.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class LuThunk final : public Thunk {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::LuThunk& lu,
                                                       const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override;
  size_t scratch_bytes() const override { return scratch_bytes_; }
  bool blocks() const override { return true; }
  absl::string_view kind() const override { return "lu"; }

 private:
  using Thunk::Thunk;
  template <typename T>
  absl::Status Run(const ExecuteContext& context) const;

  program::ElementType type_ = program::ElementType::F32;
  program::Slice operand_;
  program::Slice result_;
  program::Slice pivots_;
  program::Slice permutation_;
  MatrixBatch matrices_;
  size_t routine_offset_ = 0;  // of its scratch, behind the library's pivots
  size_t scratch_bytes_ = 0;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_LU_THUNK_H_
