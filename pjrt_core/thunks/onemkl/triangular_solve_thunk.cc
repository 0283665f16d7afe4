#include "pjrt_core/thunks/onemkl/triangular_solve_thunk.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "oneapi/mkl/blas.hpp"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/cpu_device/library_order.h"
#include "pjrt_core/thunks/onemkl/lapack_call.h"
#include "pjrt_core/thunks/onemkl/matrix_batch.h"
#include "pjrt_core/thunks/onemkl/mkl_types.h"

namespace onexpu {
namespace {

bool HaveSameStrides(const MatrixBatch& a, const MatrixBatch& b) {
  return a.rows == b.rows && a.columns == b.columns && a.row_stride == b.row_stride &&
         a.column_stride == b.column_stride && a.distance == b.distance;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> TriangularSolveThunk::Create(
    const program::Thunk& thunk, const program::TriangularSolveThunk& solve,
    const LoadContext& load) {
  std::unique_ptr<TriangularSolveThunk> result(
      new TriangularSolveThunk(thunk.op_name()->str(), thunk.source()->str()));
  ONEXPU_ASSIGN_OR_RETURN(const MatrixBatch a, MatrixBatch::Of(*solve.a()));
  ONEXPU_ASSIGN_OR_RETURN(const MatrixBatch b, MatrixBatch::Of(*solve.b()));
  ONEXPU_ASSIGN_OR_RETURN(const MatrixBatch x, MatrixBatch::Of(*solve.result()));
  if (!HaveSameStrides(b, x) || a.count != b.count) {
    return absl::InvalidArgumentError(
        "onexpu: a triangular solve whose result differs from its right-hand sides in layout");
  }
  result->type_ = solve.a()->element_type();
  result->a_ = *solve.a()->slice();
  result->b_ = *solve.b()->slice();
  result->result_ = *solve.result()->slice();
  ONEXPU_RETURN_IF_ERROR(WithMklType(result->type_, [&]<typename T>() -> absl::Status {
    // A row-major matrix is the transposed column-major matrix. In that case the transposed
    // equation is solved, and A is the transpose of the stored matrix.
    const bool conjugated = solve.transpose_a() == program::Transpose::Adjoint && kIsComplex<T>;
    const auto is_transposed = [&](bool a_by_columns, bool b_by_columns) {
      return (solve.transpose_a() != program::Transpose::None) ^ !a_by_columns ^ !b_by_columns;
    };
    for (const bool b_by_columns : {true, false}) {
      for (const bool a_by_columns : {true, false}) {
        if (!(b_by_columns ? b.has_columns() : b.has_rows())) continue;
        if (!(a_by_columns ? a.has_columns() : a.has_rows())) continue;
        // BLAS conjugates what it transposes, and nothing else.
        if (conjugated && !is_transposed(a_by_columns, b_by_columns)) continue;
        TriangularEquation& equation = result->equation_;
        equation.left_side = solve.left_side() == b_by_columns;
        equation.lower = solve.lower() == a_by_columns;
        equation.unit_diagonal = solve.unit_diagonal();
        equation.transposed = is_transposed(a_by_columns, b_by_columns);
        equation.conjugated = conjugated;
        equation.b.rows = b_by_columns ? b.rows : b.columns;
        equation.b.columns = b_by_columns ? b.columns : b.rows;
        equation.leading_a = a_by_columns ? a.column_stride : a.row_stride;
        equation.b.leading = b_by_columns ? b.column_stride : b.row_stride;
        equation.distance_a = a.distance;
        equation.b.distance = b.distance;
        equation.b.count = b.is_empty() ? 0 : b.count;
        return absl::OkStatus();
      }
    }
    return absl::UnimplementedError(
        "onexpu: adjoint triangular solve of a row-major and a column-major array is not "
        "supported: "
        "BLAS conjugates only transposed operands");
  }));
  if (result->equation_.b.count > 0 && LapackHostCall::IsAvailable(load)) {
    ONEXPU_ASSIGN_OR_RETURN(
        result->call_,
        LapackHostCall::Create(load, MakeTriangularSolveBatch(result->type_, result->equation_),
                               {result->b_, result->result_, result->a_}));
  }
  result->waits_ = result->call_ == nullptr && RunsLibrariesInHostTasks(load.queue);
  return std::unique_ptr<Thunk>(std::move(result));
}

template <typename T>
void TriangularSolveThunk::Run(const ExecuteContext& context) const {
  namespace mkl = oneapi::mkl;
  namespace blas = oneapi::mkl::blas::column_major;
  const auto side = equation_.left_side ? mkl::side::left : mkl::side::right;
  const auto triangle = equation_.lower ? mkl::uplo::lower : mkl::uplo::upper;
  const auto diagonal = equation_.unit_diagonal ? mkl::diag::unit : mkl::diag::nonunit;
  const auto transpose = !equation_.transposed  ? mkl::transpose::nontrans
                         : equation_.conjugated ? mkl::transpose::conjtrans
                                                : mkl::transpose::trans;
  const auto* a = static_cast<const T*>(context.allocations.Resolve(a_));
  auto* x = static_cast<T*>(context.allocations.Resolve(result_));
  SubmitInOrder(context.queue, [&](const std::vector<sycl::event>& before) {
    const ColumnMajorBatch& b = equation_.b;
    if (b.count == 1) {
      return blas::trsm(context.queue, side, triangle, transpose, diagonal, b.rows, b.columns, T{1},
                        a, equation_.leading_a, x, b.leading, before);
    }
    return blas::trsm_batch(context.queue, side, triangle, transpose, diagonal, b.rows, b.columns,
                            T{1}, a, equation_.leading_a, equation_.distance_a, x, b.leading,
                            b.distance, b.count, before);
  });
}

absl::Status TriangularSolveThunk::Execute(const ExecuteContext& context) {
  if (equation_.b.count == 0) return absl::OkStatus();
  context.statistics.library_calls.fetch_add(1, std::memory_order_relaxed);
  if (call_ != nullptr) {
    call_->Submit(context);
    return absl::OkStatus();
  }
  CopyUnlessSame(context, b_, result_);
  return WithMklType(type_, [&]<typename T>() {
    Run<T>(context);
    return absl::OkStatus();
  });
}

}  // namespace onexpu
