// EuclideanNorm, and InvGrad, the gradient of a reciprocal.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/translations/registration.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/primitive_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// Inputs: x, the dimensions to reduce.
class EuclideanNorm final : public XlaOpKernel {
 public:
  explicit EuclideanNorm(OpKernelConstruction* construction) : XlaOpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("keep_dims", &keep_dims_));
  }

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, Translate(context));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const {
    const TensorShape shape = context->InputShape(0);
    std::vector<int64_t> dimensions;
    TF_RETURN_IF_ERROR(context->ConstantInputReshapedToIntVector(1, &dimensions));
    std::vector<bool> is_reduced(shape.dims(), false);
    for (int64_t& dimension : dimensions) {
      if (dimension < -shape.dims() || dimension >= shape.dims()) {
        return absl::InvalidArgumentError(absl::StrCat("Invalid reduction dimension (", dimension,
                                                       " for input with ", shape.dims(),
                                                       " dimension(s)"));
      }
      if (dimension < 0) dimension += shape.dims();
      if (is_reduced[dimension]) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Invalid reduction arguments: Axes contains duplicate dimension: ", dimension));
      }
      is_reduced[dimension] = true;
    }
    std::vector<int64_t> result;
    for (int i = 0; i < shape.dims(); ++i) {
      if (!is_reduced[i]) {
        result.push_back(shape.dim_size(i));
      } else if (keep_dims_) {
        result.push_back(1);
      }
    }
    const xla::PrimitiveType type = context->input_xla_type(0);
    const bool is_complex = xla::primitive_util::IsComplexType(type);
    // Sums of half precision are wider.
    const xla::PrimitiveType sum_type =
        is_complex ? xla::primitive_util::ComplexComponentType(type)
                   : (xla::primitive_util::BitWidth(type) < 32 ? xla::F32 : type);
    const XlaOp x = context->Input(0);
    XlaOp squares;
    if (is_complex) {
      squares = xla::Real(x) * xla::Real(x) + xla::Imag(x) * xla::Imag(x);
    } else {
      const XlaOp wide = xla::ConvertElementType(x, sum_type);
      squares = wide * wide;
    }
    const XlaOp sum =
        xla::Reduce(squares, xla::Zero(context->builder(), sum_type),
                    xla::CreateScalarAddComputation(sum_type, context->builder()), dimensions);
    context->SetOutput(0, xla::ConvertElementType(xla::Reshape(xla::Sqrt(sum), result), type));
    return absl::OkStatus();
  }

  bool keep_dims_ = false;
};

// The gradient of y = 1 / x.
class InvGrad final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    const XlaOp y = xla::primitive_util::IsComplexType(context->input_xla_type(0))
                        ? xla::Conj(context->Input(0))
                        : context->Input(0);
    context->SetOutput(0, -y * context->Input(1) * y);
  }
};

}  // namespace

void RegisterReductions() {
  // Of integers, rounding would have to be said: they stay with TensorFlow's kernel on the host.
  constexpr DataType kNormTypes[] = {tensorflow::DT_HALF,      tensorflow::DT_BFLOAT16,
                                     tensorflow::DT_FLOAT,     tensorflow::DT_DOUBLE,
                                     tensorflow::DT_COMPLEX64, tensorflow::DT_COMPLEX128};
  RegisterTranslation<EuclideanNorm>(std::move(TranslationOf("EuclideanNorm")
                                                   .TypeConstraint("T", kNormTypes)
                                                   .CompileTimeConstantInput("reduction_indices")));
  RegisterTranslation<InvGrad>(TranslationOf("InvGrad"));
}

}  // namespace onexpu::tf_plugin
