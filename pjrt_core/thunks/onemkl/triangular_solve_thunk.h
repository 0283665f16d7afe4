// Solves op(A) X = B or X op(A) = B for a batch of triangular matrices A, in the memory of X.
//
// Thread-safe after creation. Borrows the operands' device memory.
#ifndef PJRT_CORE_THUNKS_ONEMKL_TRIANGULAR_SOLVE_THUNK_H_
#define PJRT_CORE_THUNKS_ONEMKL_TRIANGULAR_SOLVE_THUNK_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/cpu_device/lapack_batch.h"
#include "pjrt_core/thunks/onemkl/lapack_host_call.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class TriangularSolveThunk final : public Thunk {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::TriangularSolveThunk& solve,
                                                       const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override;
  bool waits_for_library() const override { return waits_; }
  bool follows_queue() const override { return call_ != nullptr; }
  absl::string_view kind() const override { return "triangular-solve"; }

 private:
  using Thunk::Thunk;
  template <typename T>
  void Run(const ExecuteContext& context) const;

  program::ElementType type_ = program::ElementType::F32;
  program::Slice a_;
  program::Slice b_;
  program::Slice result_;
  TriangularEquation equation_;  // without right-hand sides if B is empty
  std::unique_ptr<const LapackHostCall> call_;
  bool waits_ = false;  // in Execute, for a host task
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEMKL_TRIANGULAR_SOLVE_THUNK_H_
