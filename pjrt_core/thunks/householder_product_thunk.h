// Multiplies Householder reflectors out, for a batch of matrices that hold them, in the memory of
// the result.
//
// Thread-safe after creation. Borrows device memory. Blocks, as the library does on some devices.
#ifndef PJRT_CORE_THUNKS_HOUSEHOLDER_PRODUCT_THUNK_H_
#define PJRT_CORE_THUNKS_HOUSEHOLDER_PRODUCT_THUNK_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/matrix_batch.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class HouseholderProductThunk final : public Thunk {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(
      const program::Thunk& thunk, const program::HouseholderProductThunk& product,
      const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override;
  size_t scratch_bytes() const override { return scratch_bytes_; }
  bool blocks() const override { return true; }
  absl::string_view kind() const override { return "householder-product"; }

 private:
  using Thunk::Thunk;
  template <typename T>
  absl::Status Run(const ExecuteContext& context) const;

  program::ElementType type_ = program::ElementType::F32;
  program::Slice operand_;
  program::Slice taus_;
  program::Slice result_;
  MatrixBatch matrices_;
  int64_t reflectors_ = 0;
  size_t scratch_bytes_ = 0;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_HOUSEHOLDER_PRODUCT_THUNK_H_
