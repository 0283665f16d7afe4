#include "pjrt_core/thunks/onemkl/matrix_batch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pjrt_core/base/status_macros.h"

namespace onexpu {
namespace {

absl::Status Scattered(const program::Tensor& tensor) {
  return absl::InvalidArgumentError(
      absl::StrCat("onexpu: strides [", absl::StrJoin(*tensor.strides(), ","), "] of [",
                   absl::StrJoin(*tensor.dimensions(), ","), "] are not supported by oneMKL"));
}

}  // namespace

absl::StatusOr<Run> AsRun(const program::Tensor& tensor, uint32_t first, uint32_t last) {
  std::vector<std::pair<int64_t, int64_t>> dimensions;  // stride, size
  Run run;
  for (uint32_t i = first; i < last; ++i) {
    const int64_t size = tensor.dimensions()->Get(i);
    run.count *= size;
    if (size != 1) dimensions.emplace_back(tensor.strides()->Get(i), size);
  }
  if (dimensions.empty() || run.count == 0) return run;
  std::sort(dimensions.begin(), dimensions.end());
  run.distance = dimensions.front().first;
  int64_t next = run.distance;
  for (const auto& [stride, size] : dimensions) {
    if (stride != next) return Scattered(tensor);
    next = stride * size;
  }
  return run;
}

absl::StatusOr<MatrixBatch> MatrixBatch::Of(const program::Tensor& tensor) {
  const uint32_t rank = tensor.dimensions()->size();
  if (rank < 2) return Scattered(tensor);
  ONEXPU_ASSIGN_OR_RETURN(const Run run, AsRun(tensor, 0, rank - 2));
  MatrixBatch batch;
  batch.rows = tensor.dimensions()->Get(rank - 2);
  batch.columns = tensor.dimensions()->Get(rank - 1);
  batch.row_stride = tensor.strides()->Get(rank - 2);
  batch.column_stride = tensor.strides()->Get(rank - 1);
  // The stride of a dimension of one element says nothing.
  if (batch.columns == 1) batch.column_stride = std::max<int64_t>(1, batch.rows);
  if (batch.rows == 1) batch.row_stride = std::max<int64_t>(1, batch.columns);
  batch.count = run.count;
  batch.distance = run.count > 1 ? run.distance : batch.elements();
  if (batch.is_empty()) return batch;
  const bool by_columns = batch.has_columns() && batch.column_stride >= batch.rows;
  const bool by_rows = batch.has_rows() && batch.row_stride >= batch.columns;
  if (!by_columns && !by_rows) return Scattered(tensor);
  return batch;
}

absl::StatusOr<MatrixBatch> MatrixBatch::InPlaceByColumns(const program::Tensor& operand,
                                                          const program::Tensor& result) {
  ONEXPU_ASSIGN_OR_RETURN(const MatrixBatch from, Of(operand));
  ONEXPU_ASSIGN_OR_RETURN(const MatrixBatch to, Of(result));
  if (to.is_empty()) return to;
  if (!from.has_columns() || from.column_stride != to.column_stride ||
      from.distance != to.distance || from.count != to.count) {
    return Scattered(operand);
  }
  if (!to.has_columns()) return Scattered(result);
  return to;
}

}  // namespace onexpu
