// Mean and EuclideanNorm.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/primitive_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// The operand's dimensions that a reduction removes, and the shape of what remains.
struct Reduction {
  std::vector<int64_t> dimensions;
  std::vector<int64_t> result;
};

// Base of reductions. Inputs: x, the dimensions to reduce.
class ReductionKernel : public Translation {
 public:
  explicit ReductionKernel(OpKernelConstruction* construction) : Translation(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("keep_dims", &keep_dims_));
  }

 protected:
  virtual XlaOp Reduce(XlaOpKernelContext* context, XlaOp x, xla::PrimitiveType type,
                       const std::vector<int64_t>& dimensions) const = 0;

  static XlaOp Sum(XlaOp x, xla::PrimitiveType type, const std::vector<int64_t>& dimensions) {
    return xla::Reduce(x, xla::Zero(x.builder(), type),
                       xla::CreateScalarAddComputation(type, x.builder()), dimensions);
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(context));
    XlaOp result =
        Reduce(context, context->Input(0), context->input_xla_type(0), reduction.dimensions);
    // A reshape would fix the size of a dimension that is known only when the program runs.
    if (keep_dims_) result = xla::Reshape(result, reduction.result);
    context->SetOutput(0, result);
    return absl::OkStatus();
  }

  absl::StatusOr<Reduction> ReductionOf(XlaOpKernelContext* context) const {
    const TensorShape shape = context->InputShape(0);
    if (context->InputShape(1).dims() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected scalar or vector as index argument, got ",
                       context->InputShape(1).DebugString()));
    }
    Reduction reduction;
    TF_RETURN_IF_ERROR(context->ConstantInputReshapedToIntVector(1, &reduction.dimensions));
    std::vector<bool> is_reduced(shape.dims(), false);
    for (int64_t& dimension : reduction.dimensions) {
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
    for (int i = 0; i < shape.dims(); ++i) {
      if (!is_reduced[i]) {
        reduction.result.push_back(shape.dim_size(i));
      } else if (keep_dims_) {
        reduction.result.push_back(1);
      }
    }
    return reduction;
  }

  bool keep_dims_ = false;
};

// TensorFlow's CPU kernel sums integers in 64 bits, and its translation in the operand's width,
// where the sum of as few as two elements overflows.
class Mean final : public ReductionKernel {
 public:
  using ReductionKernel::ReductionKernel;

 private:
  static xla::PrimitiveType SumType(xla::PrimitiveType type) {
    if (xla::primitive_util::IsSignedIntegralType(type)) return xla::S64;
    if (xla::primitive_util::IsUnsignedIntegralType(type)) return xla::U64;
    return xla::primitive_util::BitWidth(type) < 32 ? xla::F32 : type;
  }

  XlaOp Reduce(XlaOpKernelContext* context, XlaOp x, xla::PrimitiveType type,
               const std::vector<int64_t>& dimensions) const override {
    if (dimensions.empty()) return x;
    const xla::PrimitiveType sum_type = SumType(type);
    const XlaOp sum = Sum(xla::ConvertElementType(x, sum_type), sum_type, dimensions);
    XlaOp count = xla::One(context->builder(), sum_type);
    for (const int64_t dimension : dimensions) {
      count = count * xla::ConvertElementType(xla::GetDimensionSize(x, dimension), sum_type);
    }
    XlaOp mean = sum / count;
    // Of no elements, real numbers have the mean NaN, and the CPU kernel gives 0 for others.
    if (!xla::primitive_util::IsFloatingPointType(type)) {
      const XlaOp zero = xla::ZerosLike(mean);
      mean = xla::Select(xla::Eq(count, xla::ZerosLike(count)), zero, mean);
    }
    return xla::ConvertElementType(mean, type);
  }
};

// The integer part of the square root of each element of `x`, which has an unsigned type. Devices
// without float64 compute it, too.
XlaOp IntegerRoot(XlaOp x, xla::PrimitiveType type) {
  XlaOp root = xla::ZerosLike(x);
  for (int bit = xla::primitive_util::BitWidth(type) / 2 - 1; bit >= 0; --bit) {
    const XlaOp larger =
        xla::Or(root, xla::ConstantR0WithType(x.builder(), type, uint64_t{1} << bit));
    root = xla::Select(xla::Le(larger * larger, x), larger, root);
  }
  return root;
}

class EuclideanNorm final : public ReductionKernel {
 public:
  using ReductionKernel::ReductionKernel;

 private:
  XlaOp Reduce(XlaOpKernelContext*, XlaOp x, xla::PrimitiveType type,
               const std::vector<int64_t>& dimensions) const override {
    if (xla::primitive_util::IsIntegralType(type)) return OfIntegers(x, type, dimensions);
    const bool is_complex = xla::primitive_util::IsComplexType(type);
    // Sums of half precision are wider.
    const xla::PrimitiveType sum_type =
        is_complex ? xla::primitive_util::ComplexComponentType(type)
                   : (xla::primitive_util::BitWidth(type) < 32 ? xla::F32 : type);
    XlaOp squares;
    if (is_complex) {
      squares = xla::Real(x) * xla::Real(x) + xla::Imag(x) * xla::Imag(x);
    } else {
      const XlaOp wide = xla::ConvertElementType(x, sum_type);
      squares = wide * wide;
    }
    return xla::ConvertElementType(xla::Sqrt(Sum(squares, sum_type, dimensions)), type);
  }

  // The CPU kernel sums squares in the operand's type, where they overflow, and rounds the root
  // towards zero. The root of a negative sum becomes the lowest 32-bit or 64-bit integer, whose low
  // 8 or 16 bits are 0.
  static XlaOp OfIntegers(XlaOp x, xla::PrimitiveType type,
                          const std::vector<int64_t>& dimensions) {
    const int bits = xla::primitive_util::BitWidth(type);
    const xla::PrimitiveType wide = bits <= 32 ? xla::U32 : xla::U64;
    const XlaOp sum = Sum(x * x, type, dimensions);
    const XlaOp root =
        xla::ConvertElementType(IntegerRoot(xla::ConvertElementType(sum, wide), wide), type);
    if (!xla::primitive_util::IsSignedIntegralType(type)) return root;
    const XlaOp none = bits < 32 ? xla::Zero(x.builder(), type) : xla::MinValue(x.builder(), type);
    return xla::Select(xla::Lt(sum, xla::ZerosLike(sum)), none, root);
  }
};

}  // namespace

void RegisterReductions() {
  RegisterTranslation<Mean>(
      std::move(TranslationOf("Mean").CompileTimeConstantInput("reduction_indices")));
  RegisterTranslation<EuclideanNorm>(
      std::move(TranslationOf("EuclideanNorm").CompileTimeConstantInput("reduction_indices")));
}

}  // namespace onexpu::tf_plugin
