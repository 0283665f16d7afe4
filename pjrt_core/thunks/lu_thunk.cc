#include "pjrt_core/thunks/lu_thunk.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "oneapi/mkl/lapack.hpp"
#include "pjrt_core/program/status_macros.h"
#include "pjrt_core/thunks/lapack_call.h"
#include "pjrt_core/thunks/mkl_types.h"

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
  result->type_ = lu.operand()->element_type();
  result->operand_ = *lu.operand()->slice();
  result->result_ = *lu.result()->slice();
  result->pivots_ = *lu.pivots()->slice();
  result->permutation_ = *lu.permutation()->slice();
  result->matrices_ = matrices;
  if (matrices.is_empty()) return std::unique_ptr<Thunk>(std::move(result));
  const int64_t exchanges = std::min(matrices.rows, matrices.columns);
  result->routine_offset_ = AlignScratch(matrices.count * exchanges * sizeof(int64_t));
  ONEXPU_RETURN_IF_ERROR(WithMklType(result->type_, [&]<typename T>() {
    return CatchLibraryErrors([&] {
      result->scratch_bytes_ =
          result->routine_offset_ + sizeof(T) * lapack::getrf_batch_scratchpad_size<T>(
                                                    load.queue, matrices.rows, matrices.columns,
                                                    matrices.column_stride, matrices.distance,
                                                    exchanges, matrices.count);
      return absl::OkStatus();
    });
  }));
  return std::unique_ptr<Thunk>(std::move(result));
}

template <typename T>
absl::Status LuThunk::Run(const ExecuteContext& context) const {
  const int64_t rows = matrices_.rows, count = matrices_.count;
  const int64_t exchanges = std::min(rows, matrices_.columns);
  auto* factors = static_cast<T*>(context.allocations.Resolve(result_));
  auto* library_pivots = static_cast<int64_t*>(context.scratch);
  auto* scratch = reinterpret_cast<T*>(static_cast<char*>(context.scratch) + routine_offset_);
  // What it calls failures are singular matrices, whose factors are fine.
  ONEXPU_RETURN_IF_ERROR(RunLapack(context.queue, count, [&] {
                           return lapack::getrf_batch(
                               context.queue, rows, matrices_.columns, factors,
                               matrices_.column_stride, matrices_.distance, library_pivots,
                               exchanges, count, scratch,
                               (scratch_bytes_ - routine_offset_) / sizeof(T));
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

absl::Status LuThunk::Execute(const ExecuteContext& context) {
  if (matrices_.is_empty()) {
    return absl::OkStatus();
  }
  CopyUnlessSame(context, operand_, result_);
  ONEXPU_RETURN_IF_ERROR(WithMklType(type_, [&]<typename T>() { return Run<T>(context); }));
  context.statistics.library_calls.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace onexpu
