#include "pjrt_core/thunks/onemkl/householder_product_thunk.h"

#include <utility>

#include "oneapi/mkl/lapack.hpp"

namespace onexpu {
namespace {

namespace lapack = oneapi::mkl::lapack;

// Real and complex matrices have one name each for the same routine.
template <typename T>
int64_t ProductScratch(sycl::queue& queue, const MatrixBatch& m, int64_t reflectors) {
  if constexpr (kIsComplex<T>) {
    return lapack::ungqr_batch_scratchpad_size<T>(queue, m.rows, m.columns, reflectors,
                                                  m.column_stride, m.distance, reflectors, m.count);
  } else {
    return lapack::orgqr_batch_scratchpad_size<T>(queue, m.rows, m.columns, reflectors,
                                                  m.column_stride, m.distance, reflectors, m.count);
  }
}

template <typename T>
sycl::event Multiply(sycl::queue& queue, const MatrixBatch& m, int64_t reflectors, T* matrices,
                     const T* taus, T* scratch, int64_t elements) {
  if constexpr (kIsComplex<T>) {
    return lapack::ungqr_batch(queue, m.rows, m.columns, reflectors, matrices, m.column_stride,
                               m.distance, taus, reflectors, m.count, scratch, elements);
  } else {
    return lapack::orgqr_batch(queue, m.rows, m.columns, reflectors, matrices, m.column_stride,
                               m.distance, taus, reflectors, m.count, scratch, elements);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> HouseholderProductThunk::Create(
    const program::Thunk& thunk, const program::HouseholderProductThunk& product,
    const LoadContext& load) {
  std::unique_ptr<HouseholderProductThunk> result(
      new HouseholderProductThunk(thunk.op_name()->str(), thunk.source()->str()));
  ONEXPU_ASSIGN_OR_RETURN(const MatrixBatch matrices,
                          MatrixBatch::InPlaceByColumns(*product.operand(), *product.result()));
  const auto& taus = *product.taus()->dimensions();
  result->taus_ = *product.taus()->slice();
  result->reflectors_ = taus[taus.size() - 1];
  return Finish(std::move(result), *product.operand(), *product.result(), matrices, load);
}

template <typename T>
size_t HouseholderProductThunk::ScratchBytes(sycl::queue& queue) const {
  return sizeof(T) * ProductScratch<T>(queue, matrices(), reflectors_);
}

template <typename T>
absl::Status HouseholderProductThunk::Run(const ExecuteContext& context) const {
  const auto* taus = static_cast<const T*>(context.allocations.Resolve(taus_));
  return RunLapack(context.queue, matrices().count,
                   [&] {
                     return Multiply(context.queue, matrices(), reflectors_, Result<T>(context),
                                     taus, Scratch<T>(context), ScratchElements<T>());
                   })
      .status();
}

}  // namespace onexpu
