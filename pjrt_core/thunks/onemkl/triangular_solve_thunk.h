// Solves op(A) X = B or X op(A) = B for a batch of triangular matrices A, in the memory of X.
//
// Thread-safe after creation. Borrows the operands' device memory.
#ifndef PJRT_CORE_THUNKS_ONEMKL_TRIANGULAR_SOLVE_THUNK_H_
#define PJRT_CORE_THUNKS_ONEMKL_TRIANGULAR_SOLVE_THUNK_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class TriangularSolveThunk final : public Thunk {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::TriangularSolveThunk& solve,
                                                       const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override;
  bool waits_for_library() const override { return waits_; }
  absl::string_view kind() const override { return "triangular-solve"; }

 private:
  // The equation as BLAS has it, with columns that are contiguous.
  struct Equation {
    bool left_side = true;
    bool lower = true;
    bool unit_diagonal = false;
    bool transposed = false;
    bool conjugated = false;
    int64_t rows = 0;  // of B
    int64_t columns = 0;
    int64_t leading_a = 1;
    int64_t leading_b = 1;
    int64_t distance_a = 0;
    int64_t distance_b = 0;
    int64_t count = 0;
  };

  using Thunk::Thunk;
  template <typename T>
  void Run(const ExecuteContext& context) const;

  program::ElementType type_ = program::ElementType::F32;
  program::Slice a_;
  program::Slice b_;
  program::Slice result_;
  Equation equation_;
  bool waits_ = false;  // in Execute, for a host task
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEMKL_TRIANGULAR_SOLVE_THUNK_H_
