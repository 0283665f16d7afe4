#include "pjrt_core/thunks/qr_thunk.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "oneapi/mkl/lapack.hpp"
#include "pjrt_core/program/status_macros.h"
#include "pjrt_core/thunks/lapack_call.h"
#include "pjrt_core/thunks/mkl_types.h"

namespace onexpu {

namespace lapack = oneapi::mkl::lapack;

absl::StatusOr<std::unique_ptr<Thunk>> QrThunk::Create(const program::Thunk& thunk,
                                                       const program::QrThunk& qr,
                                                       const LoadContext& load) {
  std::unique_ptr<QrThunk> result(new QrThunk(thunk.op_name()->str(), thunk.source()->str()));
  ONEXPU_ASSIGN_OR_RETURN(const MatrixBatch matrices,
                          MatrixBatch::InPlaceByColumns(*qr.operand(), *qr.result()));
  result->type_ = qr.operand()->element_type();
  result->operand_ = *qr.operand()->slice();
  result->result_ = *qr.result()->slice();
  result->taus_ = *qr.taus()->slice();
  result->matrices_ = matrices;
  if (matrices.is_empty()) return std::unique_ptr<Thunk>(std::move(result));
  ONEXPU_RETURN_IF_ERROR(WithMklType(result->type_, [&]<typename T>() {
    return CatchLibraryErrors([&] {
      result->scratch_bytes_ =
          sizeof(T) * lapack::geqrf_batch_scratchpad_size<T>(
                          load.queue, matrices.rows, matrices.columns, matrices.column_stride,
                          matrices.distance, std::min(matrices.rows, matrices.columns),
                          matrices.count);
      return absl::OkStatus();
    });
  }));
  return std::unique_ptr<Thunk>(std::move(result));
}

template <typename T>
absl::Status QrThunk::Run(const ExecuteContext& context) const {
  auto* factors = static_cast<T*>(context.allocations.Resolve(result_));
  auto* taus = static_cast<T*>(context.allocations.Resolve(taus_));
  return RunLapack(context.queue, matrices_.count,
                   [&] {
                     return lapack::geqrf_batch(
                         context.queue, matrices_.rows, matrices_.columns, factors,
                         matrices_.column_stride, matrices_.distance, taus,
                         std::min(matrices_.rows, matrices_.columns), matrices_.count,
                         static_cast<T*>(context.scratch), scratch_bytes_ / sizeof(T));
                   })
      .status();
}

absl::Status QrThunk::Execute(const ExecuteContext& context) {
  if (matrices_.is_empty()) return absl::OkStatus();
  CopyUnlessSame(context, operand_, result_);
  ONEXPU_RETURN_IF_ERROR(WithMklType(type_, [&]<typename T>() { return Run<T>(context); }));
  context.statistics.library_calls.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace onexpu
