#include "pjrt_core/thunks/onemkl/svd_thunk.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "oneapi/mkl/lapack.hpp"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/thunks/onemkl/mkl_types.h"

namespace onexpu {
namespace {

namespace lapack = oneapi::mkl::lapack;
using oneapi::mkl::jobsvd;

// A square matrix holds all of the vectors.
jobsvd Job(const std::optional<SvdThunk::Vectors>& vectors) {
  if (!vectors.has_value()) return jobsvd::novec;
  const MatrixBatch& matrices = vectors->matrices;
  return matrices.rows == matrices.columns ? jobsvd::vectors : jobsvd::somevec;
}

int64_t Leading(const std::optional<SvdThunk::Vectors>& vectors) {
  return vectors ? vectors->matrices.column_stride : 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> SvdThunk::Create(const program::Thunk& thunk,
                                                        const program::SvdThunk& svd,
                                                        const LoadContext& load) {
  std::unique_ptr<SvdThunk> result(new SvdThunk(thunk.op_name()->str(), thunk.source()->str()));
  ONEXPU_ASSIGN_OR_RETURN(result->matrices_,
                          MatrixBatch::InPlaceByColumns(*svd.operand(), *svd.operand()));
  const MatrixBatch& matrices = result->matrices_;
  result->type_ = svd.operand()->element_type();
  result->operand_ = *svd.operand()->slice();
  result->values_ = *svd.values()->slice();
  if (svd.left() != nullptr) {
    ONEXPU_ASSIGN_OR_RETURN(const MatrixBatch left,
                            MatrixBatch::InPlaceByColumns(*svd.left(), *svd.left()));
    ONEXPU_ASSIGN_OR_RETURN(const MatrixBatch right,
                            MatrixBatch::InPlaceByColumns(*svd.right(), *svd.right()));
    result->left_ = Vectors{*svd.left()->slice(), left};
    result->right_ = Vectors{*svd.right()->slice(), right};
  }
  if (matrices.is_empty()) return std::unique_ptr<Thunk>(std::move(result));
  if (LapackHostCall::IsAvailable(load)) {
    ONEXPU_RETURN_IF_ERROR(result->CreateHostCall(load));
    if (result->call_ != nullptr) return std::unique_ptr<Thunk>(std::move(result));
  }
  absl::MutexLock lock(&result->mutex_);
  ONEXPU_RETURN_IF_ERROR(WithMklType(result->type_, [&]<typename T>() {
    return CatchLibraryErrors([&] {
      result->queue_.emplace(load.queue);
      result->routine_offset_ = AlignScratch(matrices.elements() * sizeof(T));
      result->scratch_bytes_ =
          result->routine_offset_ +
          sizeof(T) * lapack::gesvd_scratchpad_size<T>(
                          load.queue, Job(result->left_), Job(result->right_), matrices.rows,
                          matrices.columns, matrices.column_stride, Leading(result->left_),
                          Leading(result->right_));
      return absl::OkStatus();
    });
  }));
  return std::unique_ptr<Thunk>(std::move(result));
}

absl::Status SvdThunk::CreateHostCall(const LoadContext& load) {
  LapackHostCall::Arrays arrays = {operand_, values_};
  std::optional<SingularVectors> vectors;
  if (left_.has_value()) {
    arrays.push_back(left_->slice);
    arrays.push_back(right_->slice);
    vectors = {ColumnsOf(left_->matrices), ColumnsOf(right_->matrices)};
  }
  ONEXPU_ASSIGN_OR_RETURN(
      call_, LapackHostCall::Create(load, MakeSvdBatch(type_, ColumnsOf(matrices_), vectors),
                                    std::move(arrays)));
  if (call_ != nullptr) scratch_bytes_ = call_->scratch_bytes();
  return absl::OkStatus();
}

template <typename T>
absl::Status SvdThunk::Run(const ExecuteContext& context) {
  const int64_t rows = matrices_.rows, columns = matrices_.columns;
  const int64_t least = std::min(rows, columns);
  const auto* operand = static_cast<const T*>(context.allocations.Resolve(operand_));
  auto* values = static_cast<RealOf<T>*>(context.allocations.Resolve(values_));
  T* left = left_ ? static_cast<T*>(context.allocations.Resolve(left_->slice)) : nullptr;
  T* right = right_ ? static_cast<T*>(context.allocations.Resolve(right_->slice)) : nullptr;
  auto* matrix = static_cast<T*>(context.scratch);
  auto* scratch = reinterpret_cast<T*>(static_cast<char*>(context.scratch) + routine_offset_);

  absl::MutexLock lock(&mutex_);
  for (int64_t i = 0; i < matrices_.count; ++i) {
    T* u = left ? left + i * left_->matrices.distance : nullptr;
    T* vt = right ? right + i * right_->matrices.distance : nullptr;
    ONEXPU_ASSIGN_OR_RETURN(
        const LapackFailures failures, queue_->Run(context.queue, 1, [&](sycl::queue& queue) {
          queue.memcpy(matrix, operand + i * matrices_.distance, matrices_.elements() * sizeof(T))
              .wait_and_throw();
          lapack::gesvd(queue, Job(left_), Job(right_), rows, columns, matrix,
                        matrices_.column_stride, values + i * least, u, Leading(left_), vt,
                        Leading(right_), scratch, (scratch_bytes_ - routine_offset_) / sizeof(T));
        }));
    if (failures.empty()) continue;
    FillWithNan(context.queue, values + i * least, least);
    if (u != nullptr) FillWithNan(context.queue, u, left_->matrices.elements());
    if (vt != nullptr) FillWithNan(context.queue, vt, right_->matrices.elements());
  }
  return absl::OkStatus();
}

absl::Status SvdThunk::Execute(const ExecuteContext& context) {
  if (matrices_.is_empty()) return absl::OkStatus();
  context.statistics.library_calls.fetch_add(1, std::memory_order_relaxed);
  if (call_ != nullptr) {
    call_->Submit(context);
    return absl::OkStatus();
  }
  return WithMklType(type_, [&]<typename T>() { return Run<T>(context); });
}

}  // namespace onexpu
