#include "pjrt_core/thunks/onemkl/qr_thunk.h"

#include <algorithm>
#include <utility>

#include "oneapi/mkl/lapack.hpp"

namespace onexpu {
namespace {

namespace lapack = oneapi::mkl::lapack;

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> QrThunk::Create(const program::Thunk& thunk,
                                                       const program::QrThunk& qr,
                                                       const LoadContext& load) {
  std::unique_ptr<QrThunk> result(new QrThunk(thunk.op_name()->str(), thunk.source()->str()));
  ONEXPU_ASSIGN_OR_RETURN(const MatrixBatch matrices,
                          MatrixBatch::InPlaceByColumns(*qr.operand(), *qr.result()));
  result->taus_ = *qr.taus()->slice();
  return Finish(std::move(result), *qr.operand(), *qr.result(), matrices, load);
}

template <typename T>
size_t QrThunk::ScratchBytes(sycl::queue& queue) const {
  const MatrixBatch& m = matrices();
  return sizeof(T) * lapack::geqrf_batch_scratchpad_size<T>(queue, m.rows, m.columns,
                                                            m.column_stride, m.distance,
                                                            std::min(m.rows, m.columns), m.count);
}

template <typename T>
absl::Status QrThunk::Run(const ExecuteContext& context) const {
  const MatrixBatch& m = matrices();
  auto* taus = static_cast<T*>(context.allocations.Resolve(taus_));
  return RunLapack(context.queue, m.count,
                   [&] {
                     return lapack::geqrf_batch(context.queue, m.rows, m.columns,
                                                Result<T>(context), m.column_stride, m.distance,
                                                taus, std::min(m.rows, m.columns), m.count,
                                                Scratch<T>(context), ScratchElements<T>());
                   })
      .status();
}

}  // namespace onexpu
