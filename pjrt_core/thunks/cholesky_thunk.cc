#include "pjrt_core/thunks/cholesky_thunk.h"

#include <cstdint>
#include <utility>

#include "oneapi/mkl/lapack.hpp"
#include "pjrt_core/program/status_macros.h"
#include "pjrt_core/thunks/lapack_call.h"
#include "pjrt_core/thunks/mkl_types.h"

namespace onexpu {
namespace {

namespace lapack = oneapi::mkl::lapack;

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> CholeskyThunk::Create(const program::Thunk& thunk,
                                                             const program::CholeskyThunk& cholesky,
                                                             const LoadContext& load) {
  std::unique_ptr<CholeskyThunk> result(
      new CholeskyThunk(thunk.op_name()->str(), thunk.source()->str()));
  ONEXPU_ASSIGN_OR_RETURN(const MatrixBatch operand, MatrixBatch::Of(*cholesky.operand()));
  ONEXPU_ASSIGN_OR_RETURN(const MatrixBatch matrices, MatrixBatch::Of(*cholesky.result()));
  if (operand.row_stride != matrices.row_stride || operand.distance != matrices.distance) {
    return absl::InvalidArgumentError(
        "onexpu: a Cholesky factorisation whose result differs from its operand in layout");
  }
  // A matrix by rows is the conjugate of the same matrix by columns, and so is its factor.
  const bool by_columns = matrices.has_columns();
  result->type_ = cholesky.operand()->element_type();
  result->operand_ = *cholesky.operand()->slice();
  result->result_ = *cholesky.result()->slice();
  result->matrices_ = matrices;
  result->lower_ = cholesky.lower() == by_columns;
  result->leading_ = by_columns ? matrices.column_stride : matrices.row_stride;
  if (matrices.is_empty()) return std::unique_ptr<Thunk>(std::move(result));
  ONEXPU_RETURN_IF_ERROR(WithMklType(result->type_, [&]<typename T>() {
    return CatchLibraryErrors([&] {
      // The routine for one matrix starts in a tenth of the time.
      if (matrices.count == 1) {
        result->scratch_bytes_ =
            sizeof(T) * lapack::potrf_scratchpad_size<T>(load.queue, Triangle(result->lower_),
                                                         matrices.rows, result->leading_);
        return absl::OkStatus();
      }
      result->scratch_bytes_ = sizeof(T) * lapack::potrf_batch_scratchpad_size<T>(
                                               load.queue, Triangle(result->lower_), matrices.rows,
                                               result->leading_, matrices.distance, matrices.count);
      return absl::OkStatus();
    });
  }));
  return std::unique_ptr<Thunk>(std::move(result));
}

template <typename T>
absl::Status CholeskyThunk::Run(const ExecuteContext& context) const {
  auto* matrices = static_cast<T*>(context.allocations.Resolve(result_));
  auto* scratch = static_cast<T*>(context.scratch);
  const int64_t elements = scratch_bytes_ / sizeof(T);
  ONEXPU_ASSIGN_OR_RETURN(
      const LapackFailures failures, RunLapack(context.queue, matrices_.count, [&] {
        if (matrices_.count == 1) {
          return lapack::potrf(context.queue, Triangle(lower_), matrices_.rows, matrices, leading_,
                               scratch, elements);
        }
        return lapack::potrf_batch(context.queue, Triangle(lower_), matrices_.rows, matrices,
                                   leading_, matrices_.distance, matrices_.count, scratch,
                                   elements);
      }));
  for (const int64_t failed : failures) {
    FillWithNan(context.queue, matrices + failed * matrices_.distance, matrices_.elements());
  }
  return absl::OkStatus();
}

absl::Status CholeskyThunk::Execute(const ExecuteContext& context) {
  if (matrices_.is_empty()) return absl::OkStatus();
  CopyUnlessSame(context, operand_, result_);
  ONEXPU_RETURN_IF_ERROR(WithMklType(type_, [&]<typename T>() { return Run<T>(context); }));
  context.statistics.library_calls.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace onexpu
