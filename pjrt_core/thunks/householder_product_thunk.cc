#include "pjrt_core/thunks/householder_product_thunk.h"

#include <cstdint>
#include <utility>

#include "oneapi/mkl/lapack.hpp"
#include "pjrt_core/program/status_macros.h"
#include "pjrt_core/thunks/lapack_call.h"
#include "pjrt_core/thunks/mkl_types.h"

namespace onexpu {
namespace {

namespace lapack = oneapi::mkl::lapack;

// Real and complex matrices have one name each for the same routine.
template <typename T>
int64_t ScratchElements(sycl::queue& queue, const MatrixBatch& m, int64_t reflectors) {
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
  result->type_ = product.operand()->element_type();
  result->operand_ = *product.operand()->slice();
  result->taus_ = *product.taus()->slice();
  result->result_ = *product.result()->slice();
  result->matrices_ = matrices;
  result->reflectors_ = taus[taus.size() - 1];
  if (matrices.is_empty()) return std::unique_ptr<Thunk>(std::move(result));
  ONEXPU_RETURN_IF_ERROR(WithMklType(result->type_, [&]<typename T>() {
    return CatchLibraryErrors([&] {
      result->scratch_bytes_ =
          sizeof(T) * ScratchElements<T>(load.queue, matrices, result->reflectors_);
      return absl::OkStatus();
    });
  }));
  return std::unique_ptr<Thunk>(std::move(result));
}

template <typename T>
absl::Status HouseholderProductThunk::Run(const ExecuteContext& context) const {
  auto* matrices = static_cast<T*>(context.allocations.Resolve(result_));
  const auto* taus = static_cast<const T*>(context.allocations.Resolve(taus_));
  return RunLapack(context.queue, matrices_.count,
                   [&] {
                     return Multiply(context.queue, matrices_, reflectors_, matrices, taus,
                                     static_cast<T*>(context.scratch), scratch_bytes_ / sizeof(T));
                   })
      .status();
}

absl::Status HouseholderProductThunk::Execute(const ExecuteContext& context) {
  if (matrices_.is_empty()) return absl::OkStatus();
  CopyUnlessSame(context, operand_, result_);
  ONEXPU_RETURN_IF_ERROR(WithMklType(type_, [&]<typename T>() { return Run<T>(context); }));
  context.statistics.library_calls.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace onexpu
