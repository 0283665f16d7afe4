#include "pjrt_core/thunks/eigh_thunk.h"

#include <cstdint>
#include <utility>

#include "oneapi/mkl/lapack.hpp"
#include "pjrt_core/program/status_macros.h"
#include "pjrt_core/thunks/lapack_call.h"
#include "pjrt_core/thunks/mkl_types.h"

namespace onexpu {
namespace {

namespace lapack = oneapi::mkl::lapack;
namespace mkl = oneapi::mkl;

// Real and complex matrices have one name each for the same routine.
template <typename T>
int64_t ScratchElements(sycl::queue& queue, bool lower, int64_t n, int64_t leading) {
  if constexpr (kIsComplex<T>) {
    return lapack::heevd_scratchpad_size<T>(queue, mkl::job::vec, Triangle(lower), n, leading);
  } else {
    return lapack::syevd_scratchpad_size<T>(queue, mkl::job::vec, Triangle(lower), n, leading);
  }
}

template <typename T>
sycl::event Decompose(sycl::queue& queue, bool lower, int64_t n, T* matrix, int64_t leading,
                      RealOf<T>* values, T* scratch, int64_t elements) {
  if constexpr (kIsComplex<T>) {
    return lapack::heevd(queue, mkl::job::vec, Triangle(lower), n, matrix, leading, values, scratch,
                         elements);
  } else {
    return lapack::syevd(queue, mkl::job::vec, Triangle(lower), n, matrix, leading, values, scratch,
                         elements);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> EighThunk::Create(const program::Thunk& thunk,
                                                         const program::EighThunk& eigh,
                                                         const LoadContext& load) {
  std::unique_ptr<EighThunk> result(new EighThunk(thunk.op_name()->str(), thunk.source()->str()));
  ONEXPU_ASSIGN_OR_RETURN(const MatrixBatch matrices,
                          MatrixBatch::InPlaceByColumns(*eigh.operand(), *eigh.vectors()));
  result->type_ = eigh.operand()->element_type();
  result->operand_ = *eigh.operand()->slice();
  result->vectors_ = *eigh.vectors()->slice();
  result->values_ = *eigh.values()->slice();
  result->matrices_ = matrices;
  result->lower_ = eigh.lower();
  if (matrices.is_empty()) return std::unique_ptr<Thunk>(std::move(result));
  ONEXPU_RETURN_IF_ERROR(WithMklType(result->type_, [&]<typename T>() {
    return CatchLibraryErrors([&] {
      result->scratch_bytes_ =
          sizeof(T) *
          ScratchElements<T>(load.queue, eigh.lower(), matrices.rows, matrices.column_stride);
      return absl::OkStatus();
    });
  }));
  return std::unique_ptr<Thunk>(std::move(result));
}

template <typename T>
absl::Status EighThunk::Run(const ExecuteContext& context) const {
  const int64_t n = matrices_.rows;
  auto* vectors = static_cast<T*>(context.allocations.Resolve(vectors_));
  auto* values = static_cast<RealOf<T>*>(context.allocations.Resolve(values_));
  for (int64_t i = 0; i < matrices_.count; ++i) {
    T* matrix = vectors + i * matrices_.distance;
    ONEXPU_ASSIGN_OR_RETURN(const LapackFailures failures, RunLapack(context.queue, 1, [&] {
                              return Decompose(context.queue, lower_, n, matrix,
                                               matrices_.column_stride, values + i * n,
                                               static_cast<T*>(context.scratch),
                                               scratch_bytes_ / sizeof(T));
                            }));
    if (failures.empty()) continue;
    FillWithNan(context.queue, matrix, matrices_.elements());
    FillWithNan(context.queue, values + i * n, n);
  }
  return absl::OkStatus();
}

absl::Status EighThunk::Execute(const ExecuteContext& context) {
  if (matrices_.is_empty()) return absl::OkStatus();
  CopyUnlessSame(context, operand_, vectors_);
  ONEXPU_RETURN_IF_ERROR(WithMklType(type_, [&]<typename T>() { return Run<T>(context); }));
  context.statistics.library_calls.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace onexpu
