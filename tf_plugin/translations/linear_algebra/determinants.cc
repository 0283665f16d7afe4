// LU factorisations of batches of matrices with partial pivoting, and determinants from them
// (Golub and Van Loan, Matrix Computations, 3.4).
#include <cstdint>
#include <utility>
#include <vector>

#include "tf_plugin/translations/linear_algebra/lu_factors.h"
#include "tf_plugin/translations/registration.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/matrix.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

Factors FactorsOf(XlaOpKernelContext& context) {
  return Factorize(context.Input(0), context.InputShape(0), context.input_xla_type(0));
}

class Lu final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckSquare(context->InputShape(0)));
    const Factors factors = FactorsOf(*context);
    context->SetOutput(0, factors.lu);
    context->SetOutput(1,
                       xla::ConvertElementType(factors.permutation, context->output_xla_type(1)));
  }
};

// -1 to the number of rows that were exchanged.
XlaOp SignOfPermutation(const Factors& factors, const TensorShape& shape, xla::PrimitiveType type) {
  xla::XlaBuilder* const builder = factors.lu.builder();
  const std::vector<int64_t> rows = ShapeOfRows(shape);
  const int64_t last = static_cast<int64_t>(rows.size()) - 1;
  const XlaOp row = xla::Iota(builder, xla::ShapeUtil::MakeShape(xla::S32, rows), last);
  const XlaOp exchanged = xla::ConvertElementType(xla::Ne(factors.pivots, row), xla::S32);
  const XlaOp count = xla::Reduce(exchanged, xla::Zero(builder, xla::S32),
                                  xla::CreateScalarAddComputation(xla::S32, builder), {last});
  const XlaOp is_odd = xla::And(count, xla::ScalarLike(count, 1));
  return xla::ConvertElementType(xla::ScalarLike(count, 1) - is_odd - is_odd, type);
}

XlaOp ProductOfLast(XlaOp x, int64_t dimension, xla::PrimitiveType type) {
  return xla::Reduce(x, xla::One(x.builder(), type),
                     xla::CreateScalarMultiplyComputation(type, x.builder()), {dimension});
}

class Determinant final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    const TensorShape shape = context->InputShape(0);
    const xla::PrimitiveType type = context->input_xla_type(0);
    OP_REQUIRES_OK(context, CheckSquare(shape));
    const Factors factors = FactorsOf(*context);
    const XlaOp product = ProductOfLast(xla::GetMatrixDiagonal(factors.lu), shape.dims() - 2, type);
    context->SetOutput(0, product * SignOfPermutation(factors, shape, type));
  }
};

// The determinant's sign, or its place on the unit circle, and the logarithm of its size. That of a
// singular matrix has sign 0 and minus infinity.
class LogDeterminant final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    const TensorShape shape = context->InputShape(0);
    const xla::PrimitiveType type = context->input_xla_type(0);
    const xla::PrimitiveType real_type = xla::primitive_util::IsComplexType(type)
                                             ? xla::primitive_util::ComplexComponentType(type)
                                             : type;
    OP_REQUIRES_OK(context, CheckSquare(shape));
    const Factors factors = FactorsOf(*context);
    const XlaOp diagonal = xla::GetMatrixDiagonal(factors.lu);
    const XlaOp sign = ProductOfLast(xla::Sign(diagonal), shape.dims() - 2, type) *
                       SignOfPermutation(factors, shape, type);
    const XlaOp logarithm = xla::Reduce(
        xla::Log(xla::Abs(diagonal)), xla::Zero(context->builder(), real_type),
        xla::CreateScalarAddComputation(real_type, context->builder()), {shape.dims() - 2});
    context->SetOutput(0, sign);
    context->SetOutput(1, xla::ConvertElementType(logarithm, type));
  }
};

}  // namespace

void RegisterDeterminants() {
  RegisterTranslation<Lu>(TranslationOf("Lu"));
  for (const char* const op : {"MatrixDeterminant", "BatchMatrixDeterminant"}) {
    RegisterTranslation<Determinant>(TranslationOf(op));
  }
  RegisterTranslation<LogDeterminant>(TranslationOf("LogMatrixDeterminant"));
}

}  // namespace onexpu::tf_plugin
