// Factorisations and triangular solves of small real matrices inside of a region, where a library
// call would end the kernel. The matrices of a batch advance together, one column at a time, and
// their rows are shared by the work-items. Results follow LAPACK's conventions.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/compiler/analysis/call_settings.h"
#include "pjrt_core/compiler/analysis/mkl_call.h"
#include "pjrt_core/compiler/analysis/small_linear_algebra.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/elemental/kernel_outputs.h"
#include "pjrt_core/compiler/codegen/math/math_emitter.h"
#include "pjrt_core/compiler/codegen/math/real_value.h"
#include "pjrt_core/compiler/codegen/region/region_work.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;

// Arrays of matrices, the last two dimensions, by the index of the matrix in the batch.
class Matrices {
 public:
  // `is_transposed` exchanges rows and columns.
  Matrices(FusionContext& kernel, Array array, bool is_transposed)
      : kernel_(kernel), array_(std::move(array)), is_transposed_(is_transposed) {
    const auto& dimensions = array_.shape.dimensions();
    batch_.assign(dimensions.begin(), dimensions.end() - 2);
    rows_ = dimensions[dimensions.size() - 2];
    columns_ = dimensions.back();
    if (is_transposed_) std::swap(rows_, columns_);
  }

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t count() const {
    int64_t count = 1;
    for (const int64_t extent : batch_) count *= extent;
    return count;
  }

  absl::StatusOr<Real> Load(Value* matrix, Value* row, Value* column) const {
    TF_ASSIGN_OR_RETURN(Value * value, kernel_.Load(array_, At(matrix, row, column)));
    return Real(value, kernel_.b());
  }
  absl::Status Store(Value* matrix, Value* row, Value* column, const Real& value) const {
    return kernel_.Store(array_, At(matrix, row, column), value.value());
  }

 private:
  Index At(Value* matrix, Value* row, Value* column) const {
    std::vector<Value*> index = kernel_.index_math().DelinearizeRowMajor(matrix, batch_).values();
    if (is_transposed_) std::swap(row, column);
    index.push_back(row);
    index.push_back(column);
    return Index(std::move(index));
  }

  FusionContext& kernel_;
  Array array_;
  const bool is_transposed_;
  std::vector<int64_t> batch_;
  int64_t rows_;
  int64_t columns_;
};

// A vector of each matrix: one element more per dimension of the batch.
class Vectors {
 public:
  Vectors(FusionContext& kernel, Array array) : kernel_(kernel), array_(std::move(array)) {
    batch_.assign(array_.shape.dimensions().begin(), array_.shape.dimensions().end() - 1);
  }
  absl::StatusOr<Value*> Load(Value* matrix, Value* element) const {
    return kernel_.Load(array_, At(matrix, element));
  }
  absl::Status Store(Value* matrix, Value* element, Value* value) const {
    return kernel_.Store(array_, At(matrix, element), value);
  }

 private:
  Index At(Value* matrix, Value* element) const {
    std::vector<Value*> index = kernel_.index_math().DelinearizeRowMajor(matrix, batch_).values();
    index.push_back(element);
    return Index(std::move(index));
  }

  FusionContext& kernel_;
  Array array_;
  std::vector<int64_t> batch_;
};

// A running value of a loop.
class Variable {
 public:
  Variable(FusionContext& kernel, Value* initial)
      : kernel_(kernel), slot_(kernel.Slot(initial->getType(), initial)) {}
  Value* Get() const { return kernel_.b().CreateLoad(slot_->getAllocatedType(), slot_); }
  void Set(Value* value) const { kernel_.b().CreateStore(value, slot_); }

 private:
  FusionContext& kernel_;
  llvm::AllocaInst* slot_;
};

// `sum` - x * y, rounded once.
Real Without(const Real& sum, const Real& x, const Real& y) { return Fma(-x, y, sum); }

}  // namespace

// The factor overwrites the triangle that is read, and nothing else.
absl::Status RegionWork::EmitCholesky(const HloInstruction& call, const Array& result) {
  TF_ASSIGN_OR_RETURN(const CholeskyConfig config, CholeskyConfigOf(call));
  TF_RETURN_IF_ERROR(CopyUnlessInPlace(*call.operand(0), result));
  // The upper factor is the lower one of the same matrix, transposed.
  const Matrices a(kernel_, result, /*is_transposed=*/!config.lower);
  IndexMath& math = kernel_.index_math();
  llvm::IRBuilder<>& b = kernel_.b();
  const int64_t n = a.rows();
  // Until the end, the diagonal holds the squares of the factor's, each less the products of the
  // columns before. Every other element is computed once, from the elements to its left.
  const auto column = [&](Value* k) -> absl::Status {
    const auto element = [&](Value* number) -> absl::Status {
      Value* matrix = math.Div(number, n);
      Value* row = math.Rem(number, n);
      return kernel_.If(b.CreateICmpSGT(row, k), [&]() -> absl::Status {
        TF_ASSIGN_OR_RETURN(const Real square, a.Load(matrix, k, k));
        TF_ASSIGN_OR_RETURN(const Real first, a.Load(matrix, row, k));
        const Variable sum(kernel_, first.value());
        TF_RETURN_IF_ERROR(
            kernel_.For(math.Constant(0), k, math.Constant(1), [&](Value* j) -> absl::Status {
              TF_ASSIGN_OR_RETURN(const Real x, a.Load(matrix, row, j));
              TF_ASSIGN_OR_RETURN(const Real y, a.Load(matrix, k, j));
              sum.Set(Without(Real(sum.Get(), b), x, y).value());
              return absl::OkStatus();
            }));
        TF_ASSIGN_OR_RETURN(const Real pivot, SquareRootOfPivot(square));
        const Real factor = Real(sum.Get(), b) / pivot;
        TF_RETURN_IF_ERROR(a.Store(matrix, row, k, factor));
        TF_ASSIGN_OR_RETURN(const Real own, a.Load(matrix, row, row));
        return a.Store(matrix, row, row, Without(own, factor, factor));
      });
    };
    TF_RETURN_IF_ERROR(ForEachItem(a.count() * n, element));
    Synchronize();
    return absl::OkStatus();
  };
  TF_RETURN_IF_ERROR(kernel_.For(math.Constant(0), math.Constant(n - 1), math.Constant(1), column));
  // A pivot that is not positive makes all later elements NaN, and so the last one of the diagonal.
  // Whether that is positive does not change when its root is stored.
  return ForEachItem(a.count() * n, [&](Value* number) -> absl::Status {
    Value* matrix = math.Div(number, n);
    Value* row = math.Rem(number, n);
    Value* last = math.Constant(n - 1);
    TF_ASSIGN_OR_RETURN(const Real square, a.Load(matrix, row, row));
    TF_ASSIGN_OR_RETURN(const Real last_pivot, a.Load(matrix, last, last));
    TF_ASSIGN_OR_RETURN(const Real root, SquareRootOfPivot(square));
    return kernel_.IfElse(
        Greater(last_pivot, 0.0), [&] { return a.Store(matrix, row, row, root); },
        [&] {
          return kernel_.For(math.Constant(0), math.Constant(n), math.Constant(1),
                             [&](Value* j) { return a.Store(matrix, row, j, square.Nan()); });
        });
  });
}

absl::StatusOr<Real> RegionWork::SquareRootOfPivot(const Real& square) {
  TF_ASSIGN_OR_RETURN(Value * root,
                      EmitMath(MathFunction::kSqrt, {square.value()},
                               kernel_.target().device->has_exponential_instruction, kernel_.b()));
  return Select(Greater(square, 0.0), Real(root, kernel_.b()), square.Nan());
}

absl::Status RegionWork::EmitTriangularSolve(const HloInstruction& call, const Array& result) {
  TF_ASSIGN_OR_RETURN(const TriangularSolveConfig config, TriangularSolveConfigOf(call));
  TF_RETURN_IF_ERROR(CopyUnlessInPlace(*call.operand(1), result));
  // X op(A) = B is the equation op(A)^T X^T = B^T.
  const bool is_transposed = (config.transpose != program::Transpose::None) == config.left_side;
  const Matrices a(kernel_, *kernel_.FindArray(*call.operand(0)), is_transposed);
  const Matrices x(kernel_, result, /*is_transposed=*/!config.left_side);
  IndexMath& math = kernel_.index_math();
  llvm::IRBuilder<>& b = kernel_.b();
  const int64_t n = x.rows();
  // The rows in the order in which they are solved.
  const bool is_forward = config.lower != is_transposed;
  const auto row_of = [&](Value* step) {
    return is_forward ? step : math.Sub(math.Constant(n - 1), step);
  };
  const auto quotient = [&](const Real& sum, Value* matrix, Value* row) -> absl::StatusOr<Real> {
    if (config.unit_diagonal) return sum;
    TF_ASSIGN_OR_RETURN(const Real diagonal, a.Load(matrix, row, row));
    return sum / diagonal;
  };
  const int64_t systems = x.count() * x.columns();
  if (SolvesWholeSystems(call, work_items_)) {
    return ForEachItem(systems, [&](Value* number) {
      Value* matrix = math.Div(number, x.columns());
      Value* column = math.Rem(number, x.columns());
      const auto solve = [&](Value* step) -> absl::Status {
        Value* row = row_of(step);
        TF_ASSIGN_OR_RETURN(const Real first, x.Load(matrix, row, column));
        const Variable sum(kernel_, first.value());
        const auto subtract = [&](Value* before) -> absl::Status {
          TF_ASSIGN_OR_RETURN(const Real factor, a.Load(matrix, row, row_of(before)));
          TF_ASSIGN_OR_RETURN(const Real solved, x.Load(matrix, row_of(before), column));
          sum.Set(Without(Real(sum.Get(), b), factor, solved).value());
          return absl::OkStatus();
        };
        TF_RETURN_IF_ERROR(kernel_.For(math.Constant(0), step, math.Constant(1), subtract));
        TF_ASSIGN_OR_RETURN(const Real solution, quotient(Real(sum.Get(), b), matrix, row));
        return x.Store(matrix, row, column, solution);
      };
      return kernel_.For(math.Constant(0), math.Constant(n), math.Constant(1), solve);
    });
  }
  // Each row is subtracted from all that follow. The quotients are stored at the end, because other
  // work-items read what they are made of.
  const auto for_each = [&](absl::FunctionRef<absl::Status(Value*, Value*, Value*)> body) {
    return ForEachItem(systems * n, [&](Value* number) {
      Value* system = math.Div(number, n);
      return body(math.Div(system, x.columns()), math.Rem(number, n),
                  math.Rem(system, x.columns()));
    });
  };
  const auto subtract = [&](Value* step) -> absl::Status {
    Value* solved = row_of(step);
    TF_RETURN_IF_ERROR(for_each([&](Value* matrix, Value* number, Value* column) {
      return kernel_.If(b.CreateICmpSGT(number, step), [&]() -> absl::Status {
        Value* row = row_of(number);
        TF_ASSIGN_OR_RETURN(const Real sum, x.Load(matrix, solved, column));
        TF_ASSIGN_OR_RETURN(const Real solution, quotient(sum, matrix, solved));
        TF_ASSIGN_OR_RETURN(const Real factor, a.Load(matrix, row, solved));
        TF_ASSIGN_OR_RETURN(const Real rest, x.Load(matrix, row, column));
        return x.Store(matrix, row, column, Without(rest, factor, solution));
      });
    }));
    Synchronize();
    return absl::OkStatus();
  };
  TF_RETURN_IF_ERROR(
      kernel_.For(math.Constant(0), math.Constant(n - 1), math.Constant(1), subtract));
  return for_each([&](Value* matrix, Value* row, Value* column) -> absl::Status {
    TF_ASSIGN_OR_RETURN(const Real sum, x.Load(matrix, row, column));
    TF_ASSIGN_OR_RETURN(const Real solution, quotient(sum, matrix, row));
    return x.Store(matrix, row, column, solution);
  });
}

// Each step exchanges two rows, and subtracts the pivot's row from those below it.
absl::Status RegionWork::EmitLu(const HloInstruction& call, const std::vector<Array>& results) {
  TF_RETURN_IF_ERROR(CopyUnlessInPlace(*call.operand(0), results[0]));
  const Matrices a(kernel_, results[0], /*is_transposed=*/false);
  const Vectors exchanges(kernel_, results[1]);
  const Vectors permutation(kernel_, results[2]);
  IndexMath& math = kernel_.index_math();
  llvm::IRBuilder<>& b = kernel_.b();
  const int64_t rows = a.rows(), columns = a.columns();
  const auto for_each = [&](int64_t extent,
                            absl::FunctionRef<absl::Status(Value * matrix, Value * number)> body) {
    return ForEachItem(a.count() * extent, [&](Value* number) {
      return body(math.Div(number, extent), math.Rem(number, extent));
    });
  };
  const auto as_int32 = [&](Value* number) {
    return b.CreateIntCast(number, b.getInt32Ty(), true);
  };
  TF_RETURN_IF_ERROR(for_each(rows, [&](Value* matrix, Value* row) {
    return permutation.Store(matrix, row, as_int32(row));
  }));
  Synchronize();

  // The first of the largest elements of the column, as LAPACK does: comparisons with NaN are
  // false, so NaN is the pivot only where the search begins with it.
  const auto find_pivot = [&](Value* matrix, Value* k) -> absl::Status {
    TF_ASSIGN_OR_RETURN(const Real first, a.Load(matrix, k, k));
    const Variable largest(kernel_, Abs(first).value());
    const Variable pivot(kernel_, k);
    const auto compare = [&](Value* row) -> absl::Status {
      TF_ASSIGN_OR_RETURN(const Real element, a.Load(matrix, row, k));
      Value* is_larger = Greater(Abs(element), Real(largest.Get(), b));
      largest.Set(b.CreateSelect(is_larger, Abs(element).value(), largest.Get()));
      pivot.Set(b.CreateSelect(is_larger, row, pivot.Get()));
      return absl::OkStatus();
    };
    TF_RETURN_IF_ERROR(kernel_.For(math.Add(k, 1), math.Constant(rows), math.Constant(1), compare));
    return exchanges.Store(matrix, k, as_int32(pivot.Get()));
  };
  const auto exchange = [&](Value* matrix, Value* k, Value* column) -> absl::Status {
    TF_ASSIGN_OR_RETURN(Value * stored, exchanges.Load(matrix, k));
    Value* pivot = math.ToIndexType(stored);
    TF_ASSIGN_OR_RETURN(const Real upper, a.Load(matrix, k, column));
    TF_ASSIGN_OR_RETURN(const Real lower, a.Load(matrix, pivot, column));
    TF_RETURN_IF_ERROR(a.Store(matrix, k, column, lower));
    TF_RETURN_IF_ERROR(a.Store(matrix, pivot, column, upper));
    return kernel_.If(b.CreateICmpEQ(column, math.Constant(0)), [&]() -> absl::Status {
      TF_ASSIGN_OR_RETURN(Value * first, permutation.Load(matrix, k));
      TF_ASSIGN_OR_RETURN(Value * second, permutation.Load(matrix, pivot));
      TF_RETURN_IF_ERROR(permutation.Store(matrix, k, second));
      return permutation.Store(matrix, pivot, first);
    });
  };
  const auto eliminate = [&](Value* matrix, Value* k, Value* row) -> absl::Status {
    TF_ASSIGN_OR_RETURN(const Real pivot, a.Load(matrix, k, k));
    TF_ASSIGN_OR_RETURN(const Real element, a.Load(matrix, row, k));
    // A column of zeros stays as it is.
    const Real factor = Select(Equal(pivot, 0.0), element, element / pivot);
    TF_RETURN_IF_ERROR(a.Store(matrix, row, k, factor));
    const auto subtract = [&](Value* column) -> absl::Status {
      TF_ASSIGN_OR_RETURN(const Real upper, a.Load(matrix, k, column));
      TF_ASSIGN_OR_RETURN(const Real own, a.Load(matrix, row, column));
      return a.Store(matrix, row, column, Without(own, factor, upper));
    };
    return kernel_.For(math.Add(k, 1), math.Constant(columns), math.Constant(1), subtract);
  };
  const auto step = [&](Value* k) -> absl::Status {
    TF_RETURN_IF_ERROR(
        ForEachItem(a.count(), [&](Value* matrix) { return find_pivot(matrix, k); }));
    Synchronize();
    TF_RETURN_IF_ERROR(for_each(
        columns, [&](Value* matrix, Value* column) { return exchange(matrix, k, column); }));
    Synchronize();
    TF_RETURN_IF_ERROR(for_each(rows, [&](Value* matrix, Value* row) {
      return kernel_.If(b.CreateICmpSGT(row, k), [&] { return eliminate(matrix, k, row); });
    }));
    Synchronize();
    return absl::OkStatus();
  };
  return kernel_.For(math.Constant(0), math.Constant(std::min(rows, columns)), math.Constant(1),
                     step);
}

absl::Status RegionWork::CopyUnlessInPlace(const HloInstruction& operand, const Array& result) {
  if (IsInMemoryOf(kernel_, operand, result)) return absl::OkStatus();
  TF_RETURN_IF_ERROR(ForEachElement(result.shape, [&](const Index& index) -> absl::Status {
    TF_ASSIGN_OR_RETURN(Value * value, kernel_.Element(operand, index));
    return kernel_.Store(result, index, value);
  }));
  Synchronize();
  return absl::OkStatus();
}

absl::Status RegionWork::EmitLinearAlgebra(const HloInstruction& call,
                                           const std::vector<Array>& results) {
  if (xla::ShapeUtil::IsZeroElementArray(results[0].shape)) return absl::OkStatus();
  if (HasTarget(call, kCholeskyTarget)) return EmitCholesky(call, results[0]);
  if (HasTarget(call, kTriangularSolveTarget)) return EmitTriangularSolve(call, results[0]);
  if (HasTarget(call, kLuTarget)) return EmitLu(call, results);
  return UnsupportedOperation(call);
}

}  // namespace onexpu::compiler
