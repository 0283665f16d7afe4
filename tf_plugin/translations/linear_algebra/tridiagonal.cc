// TridiagonalSolve, with pivoting and without: a call of the built-in kernel. TensorFlow's
// translation has no pivoting, which is the op's default, and solves row by row in a loop. And
// TridiagonalMatMul, which is TensorFlow's, of complex numbers too.
#include "xla/hlo/builder/lib/tridiagonal.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;

class TridiagonalSolve final : public XlaOpKernel {
 public:
  explicit TridiagonalSolve(OpKernelConstruction* construction) : XlaOpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("partial_pivoting", &is_pivoting_));
    bool perturbs = false;
    OP_REQUIRES_OK(construction, construction->GetAttr("perturb_singular", &perturbs));
    OP_REQUIRES(construction, !perturbs,
                absl::UnimplementedError("onexpu: TridiagonalSolve with perturb_singular, which "
                                         "TensorFlow has on CPUs alone; put it under "
                                         "tf.device('/CPU:0')"));
  }

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, Check(context->InputShape(0), context->InputShape(1)));
    const absl::StatusOr<xla::Shape> shape = context->InputXlaShape(1);
    OP_REQUIRES_OK(context, shape.status());
    context->SetOutput(
        0,
        xla::CustomCall(context->builder(), "onexpu.tridiagonal_solve",
                        {context->Input(0), context->Input(1)}, *shape,
                        absl::StrCat("{partial_pivoting = ", is_pivoting_ ? "true" : "false", "}"),
                        /*has_side_effect=*/false, /*output_operand_aliasing=*/{},
                        /*literal=*/nullptr, xla::CustomCallSchedule::SCHEDULE_NONE,
                        xla::CustomCallApiVersion::API_VERSION_TYPED_FFI));
  }

 private:
  // In the words of TensorFlow's CPU kernel.
  static absl::Status Check(const TensorShape& diagonals, const TensorShape& right) {
    const int rank = diagonals.dims();
    if (rank < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected lhs to have rank at least 2, got ", rank));
    }
    if (right.dims() != rank) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Expected the rhs to have rank equal to the lhs: ", right.dims(), " vs ", rank));
    }
    for (int i = 0; i < rank - 2; ++i) {
      if (diagonals.dim_size(i) != right.dim_size(i)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Batch shapes of diagonals and right-hand sides differ: ", diagonals.DebugString(),
            " and ", right.DebugString()));
      }
    }
    if (diagonals.dim_size(rank - 2) != 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected 3 diagonals got ", diagonals.dim_size(rank - 2)));
    }
    if (diagonals.dim_size(rank - 1) != right.dim_size(rank - 2)) {
      return absl::InvalidArgumentError(
          absl::StrCat("The length of diagonals must be equal to the rhs dimension: ",
                       diagonals.dim_size(rank - 1), " != ", right.dim_size(rank - 2)));
    }
    return absl::OkStatus();
  }

  bool is_pivoting_ = true;
};

// Inputs: three diagonals, upper first, and the right side.
class TridiagonalMatMul final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    const absl::StatusOr<xla::XlaOp> product = xla::tridiagonal::TridiagonalMatMul(
        context->Input(0), context->Input(1), context->Input(2), context->Input(3));
    OP_REQUIRES_OK(context, product.status());
    context->SetOutput(0, *product);
  }
};

}  // namespace

void RegisterTridiagonal() {
  RegisterTranslation<TridiagonalSolve>(TranslationOf("TridiagonalSolve"));
  RegisterTranslation<TridiagonalMatMul>(TranslationOf("TridiagonalMatMul"));
}

}  // namespace onexpu::tf_plugin
