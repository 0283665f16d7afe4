#include "pjrt_core/thunks/onemkl/lu_thunk.h"

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "oneapi/mkl/lapack.hpp"

namespace onexpu {
namespace {

namespace lapack = oneapi::mkl::lapack;

// Where each row of P A comes from, out of one matrix's row exchanges.
void ToPermutation(const int32_t* pivots, int64_t exchanges, int32_t* permutation, int64_t rows) {
  std::iota(permutation, permutation + rows, 0);
  for (int64_t i = 0; i < exchanges; ++i) std::swap(permutation[i], permutation[pivots[i]]);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> LuThunk::Create(const program::Thunk& thunk,
                                                       const program::LuThunk& lu,
                                                       const LoadContext& load) {
  std::unique_ptr<LuThunk> result(new LuThunk(thunk.op_name()->str(), thunk.source()->str()));
  ONEXPU_ASSIGN_OR_RETURN(const MatrixBatch matrices,
                          MatrixBatch::InPlaceByColumns(*lu.operand(), *lu.result()));
  result->pivots_ = *lu.pivots()->slice();
  result->permutation_ = *lu.permutation()->slice();
  return Finish(std::move(result), *lu.operand(), *lu.result(), matrices, load);
}

template <typename T>
size_t LuThunk::ScratchBytes(sycl::queue& queue) const {
  const MatrixBatch& m = matrices();
  return routine_offset() + sizeof(T) * lapack::getrf_batch_scratchpad_size<T>(
                                            queue, m.rows, m.columns, m.column_stride, m.distance,
                                            exchanges(), m.count);
}

template <typename T>
absl::Status LuThunk::Run(const ExecuteContext& context) const {
  const MatrixBatch& m = matrices();
  const int64_t rows = m.rows, count = m.count, exchanges = this->exchanges();
  auto* library_pivots = Scratch<int64_t>(context);
  // What it calls failures are singular matrices, whose factors are fine.
  ONEXPU_RETURN_IF_ERROR(RunLapack(context.queue, count, [&] {
                           return lapack::getrf_batch(context.queue, rows, m.columns,
                                                      Result<T>(context), m.column_stride,
                                                      m.distance, library_pivots, exchanges, count,
                                                      Scratch<T>(context, routine_offset()),
                                                      ScratchElements<T>(routine_offset()));
                         }).status());
  std::vector<int64_t> wide(count * exchanges);
  context.queue.memcpy(wide.data(), library_pivots, wide.size() * sizeof(int64_t)).wait_and_throw();
  std::vector<int32_t> pivots(wide.size()), permutation(count * rows);
  // The library counts from 1. A pivot that is no row of the matrix comes of NaN alone.
  for (size_t i = 0; i < wide.size(); ++i) {
    const bool is_row = wide[i] >= 1 && wide[i] <= rows;
    pivots[i] = static_cast<int32_t>(is_row ? wide[i] - 1 : i % exchanges);
  }
  for (int64_t i = 0; i < count; ++i) {
    ToPermutation(&pivots[i * exchanges], exchanges, &permutation[i * rows], rows);
  }
  context.queue.memcpy(context.allocations.Resolve(pivots_), pivots.data(),
                       pivots.size() * sizeof(int32_t));
  context.queue
      .memcpy(context.allocations.Resolve(permutation_), permutation.data(),
              permutation.size() * sizeof(int32_t))
      .wait_and_throw();
  return absl::OkStatus();
}

}  // namespace onexpu
