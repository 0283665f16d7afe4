#include "pjrt_core/thunks/onemkl/cholesky_thunk.h"

#include <utility>

#include "oneapi/mkl/lapack.hpp"

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
  result->lower_ = cholesky.lower() == by_columns;
  result->leading_ = by_columns ? matrices.column_stride : matrices.row_stride;
  return Finish(std::move(result), *cholesky.operand(), *cholesky.result(), matrices, load);
}

// The routine for one matrix starts in a tenth of the time.
template <typename T>
size_t CholeskyThunk::ScratchBytes(sycl::queue& queue) const {
  const MatrixBatch& m = matrices();
  if (m.count == 1) {
    return sizeof(T) * lapack::potrf_scratchpad_size<T>(queue, Triangle(lower_), m.rows, leading_);
  }
  return sizeof(T) * lapack::potrf_batch_scratchpad_size<T>(queue, Triangle(lower_), m.rows,
                                                            leading_, m.distance, m.count);
}

template <typename T>
absl::Status CholeskyThunk::Run(const ExecuteContext& context) const {
  const MatrixBatch& m = matrices();
  T* factors = Result<T>(context);
  T* scratch = Scratch<T>(context);
  ONEXPU_ASSIGN_OR_RETURN(const LapackFailures failures, RunLapack(context.queue, m.count, [&] {
                            if (m.count == 1) {
                              return lapack::potrf(context.queue, Triangle(lower_), m.rows, factors,
                                                   leading_, scratch, ScratchElements<T>());
                            }
                            return lapack::potrf_batch(context.queue, Triangle(lower_), m.rows,
                                                       factors, leading_, m.distance, m.count,
                                                       scratch, ScratchElements<T>());
                          }));
  for (const int64_t failed : failures) {
    FillWithNan(context.queue, factors + failed * m.distance, m.elements());
  }
  return absl::OkStatus();
}

}  // namespace onexpu
