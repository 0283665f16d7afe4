// Solutions of systems of linear equations and inverses of matrices, by LU factorisation with
// partial pivoting (Golub and Van Loan, Matrix Computations, 3.4), of all types that TensorFlow has
// them for. TensorFlow's own translations multiply with an inverse that a QR factorisation gives,
// and know no complex numbers.
#include <cstdint>
#include <vector>

#include "tf_plugin/translations/linear_algebra/lu_factors.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/math.h"
#include "xla/hlo/builder/lib/matrix.h"
#include "xla/hlo/builder/lib/slicing.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape_util.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// X of L U X = `sides`.
XlaOp SolveWith(const Factors& factors, XlaOp sides) {
  constexpr auto kAsItIs = xla::TriangularSolveOptions::NO_TRANSPOSE;
  const XlaOp lower = xla::TriangularSolve(factors.lu, sides, /*left_side=*/true, /*lower=*/true,
                                           /*unit_diagonal=*/true, kAsItIs);
  return xla::TriangularSolve(factors.lu, lower, /*left_side=*/true, /*lower=*/false,
                              /*unit_diagonal=*/false, kAsItIs);
}

// For each element of `shape`, a matrix or a batch of them, the row that the factorisation has in
// the place of the element's own.
XlaOp RowOfEach(const Factors& factors, const TensorShape& shape) {
  std::vector<int64_t> dimensions(shape.dims() - 1);
  for (size_t i = 0; i < dimensions.size(); ++i) dimensions[i] = static_cast<int64_t>(i);
  return xla::BroadcastInDim(factors.permutation, shape.dim_sizes(), dimensions);
}

// What both have in common: a square matrix, or the conjugate transpose of it, that is factorised
// in single precision at least.
class Solution : public XlaOpKernel {
 public:
  explicit Solution(OpKernelConstruction* construction) : XlaOpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("adjoint", &adjoint_));
  }

  void Compile(XlaOpKernelContext* context) final {
    const TensorShape matrix = context->InputShape(0);
    const TensorShape result =
        context->InputShape(context->num_inputs() - 1);  // of the last operand
    OP_REQUIRES_OK(context, CheckSquare(matrix));
    const xla::PrimitiveType type = context->input_xla_type(0);
    if (result.num_elements() == 0) {
      context->SetOutput(0,
                         xla::Broadcast(xla::Zero(context->builder(), type), result.dim_sizes()));
      return;
    }
    const xla::PrimitiveType computed = type == xla::F16 ? xla::F32 : type;
    XlaOp input = xla::ConvertElementType(context->Input(0), computed);
    if (adjoint_) input = xla::TransposeInMinorDims(xla::MaybeConjugate(input, true));
    const XlaOp solved = Solve(*context, Factorize(input, matrix, computed), computed);
    context->SetOutput(0, xla::ConvertElementType(solved, type));
  }

 private:
  virtual XlaOp Solve(XlaOpKernelContext& context, const Factors& factors,
                      xla::PrimitiveType type) const = 0;

  bool adjoint_ = false;
};

class MatrixSolve final : public Solution {
 public:
  using Solution::Solution;

 private:
  XlaOp Solve(XlaOpKernelContext& context, const Factors& factors,
              xla::PrimitiveType type) const override {
    const TensorShape shape = context.InputShape(1);
    const XlaOp sides = xla::ConvertElementType(context.Input(1), type);
    return SolveWith(factors, xla::TorchGather(sides, RowOfEach(factors, shape), shape.dims() - 2));
  }
};

class MatrixInverse final : public Solution {
 public:
  using Solution::Solution;

 private:
  XlaOp Solve(XlaOpKernelContext& context, const Factors& factors,
              xla::PrimitiveType type) const override {
    const TensorShape shape = context.InputShape(0);
    const XlaOp column =
        xla::Iota(context.builder(), xla::ShapeUtil::MakeShape(xla::S32, shape.dim_sizes()),
                  shape.dims() - 1);
    const XlaOp rows_of_one = xla::Eq(RowOfEach(factors, shape), column);
    return SolveWith(factors, xla::ConvertElementType(rows_of_one, type));
  }
};

}  // namespace

void RegisterMatrixSolve() {
  RegisterTranslation<MatrixSolve>(TranslationOf("MatrixSolve"));
  RegisterTranslation<MatrixInverse>(TranslationOf("MatrixInverse"));
}

}  // namespace onexpu::tf_plugin
