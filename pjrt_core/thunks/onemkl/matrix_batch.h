// A batch of matrices as BLAS and LAPACK see it. Plain values.
#ifndef PJRT_CORE_THUNKS_ONEMKL_MATRIX_BATCH_H_
#define PJRT_CORE_THUNKS_ONEMKL_MATRIX_BATCH_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu {

struct MatrixBatch {
  // The last two dimensions are the matrix. INVALID_ARGUMENT unless one distance leads through all
  // the others and rows or columns are contiguous.
  static absl::StatusOr<MatrixBatch> Of(const program::Tensor& tensor);

  // By columns, operand and result alike: what LAPACK's routines work on in place.
  static absl::StatusOr<MatrixBatch> InPlaceByColumns(const program::Tensor& operand,
                                                      const program::Tensor& result);

  bool is_empty() const { return rows == 0 || columns == 0 || count == 0; }
  int64_t elements() const { return rows * columns; }                   // of one matrix
  bool has_columns() const { return rows == 1 || row_stride == 1; }     // contiguous ones
  bool has_rows() const { return columns == 1 || column_stride == 1; }  // contiguous ones

  int64_t rows = 0;
  int64_t columns = 0;
  int64_t row_stride = 1;  // elements from one row to the next
  int64_t column_stride = 1;
  int64_t count = 1;
  int64_t distance = 0;  // elements from one matrix to the next
};

// What is a batch to a library: sizes and strides of dimensions that one distance walks through.
struct Run {
  int64_t count = 1;
  int64_t distance = 0;
};

// INVALID_ARGUMENT when it takes more than one distance. Dimensions from `first` to before `last`.
absl::StatusOr<Run> AsRun(const program::Tensor& tensor, uint32_t first, uint32_t last);

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEMKL_MATRIX_BATCH_H_
