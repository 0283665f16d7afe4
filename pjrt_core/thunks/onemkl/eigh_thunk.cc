#include "pjrt_core/thunks/onemkl/eigh_thunk.h"

#include <utility>

#include "oneapi/mkl/lapack.hpp"

namespace onexpu {
namespace {

namespace lapack = oneapi::mkl::lapack;
namespace mkl = oneapi::mkl;

// Real and complex matrices have one name each for the same routine.
template <typename T>
int64_t DecompositionScratch(sycl::queue& queue, bool lower, int64_t n, int64_t leading) {
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
  result->values_ = *eigh.values()->slice();
  result->lower_ = eigh.lower();
  return Finish(std::move(result), *eigh.operand(), *eigh.vectors(), matrices, load);
}

template <typename T>
size_t EighThunk::ScratchBytes(sycl::queue& queue) const {
  return sizeof(T) *
         DecompositionScratch<T>(queue, lower_, matrices().rows, matrices().column_stride);
}

template <typename T>
absl::Status EighThunk::Run(const ExecuteContext& context) const {
  const MatrixBatch& m = matrices();
  const int64_t n = m.rows;
  T* vectors = Result<T>(context);
  auto* values = static_cast<RealOf<T>*>(context.allocations.Resolve(values_));
  for (int64_t i = 0; i < m.count; ++i) {
    T* matrix = vectors + i * m.distance;
    ONEXPU_ASSIGN_OR_RETURN(const LapackFailures failures, RunLapack(context.queue, 1, [&] {
                              return Decompose(context.queue, lower_, n, matrix, m.column_stride,
                                               values + i * n, Scratch<T>(context),
                                               ScratchElements<T>());
                            }));
    if (failures.empty()) continue;
    FillWithNan(context.queue, matrix, m.elements());
    FillWithNan(context.queue, values + i * n, n);
  }
  return absl::OkStatus();
}

}  // namespace onexpu
