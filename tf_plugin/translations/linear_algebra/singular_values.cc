// Singular values and vectors, by LAPACK's routine in the core. TensorFlow's translation is a
// one-sided Jacobi iteration that stops at errors of 1e-6, whatever the type.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/math.h"
#include "xla/hlo/builder/lib/matrix.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// As many `rows` x `columns` matrices as `matrices` is of another size.
xla::Shape MatricesLike(const TensorShape& matrices, xla::PrimitiveType type, int64_t rows,
                        int64_t columns) {
  const auto sizes = matrices.dim_sizes();
  std::vector<int64_t> dimensions(sizes.begin(), sizes.end() - 2);
  dimensions.push_back(rows);
  dimensions.push_back(columns);
  return xla::ShapeUtil::MakeShape(type, dimensions);
}

// Results: the values, and of A = U diag(values) V* the matrices U and V.
class SvdKernel final : public XlaOpKernel {
 public:
  explicit SvdKernel(OpKernelConstruction* construction) : XlaOpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("compute_uv", &has_vectors_));
    OP_REQUIRES_OK(construction, construction->GetAttr("full_matrices", &is_full_));
  }

  void Compile(XlaOpKernelContext* context) override {
    const TensorShape shape = context->InputShape(0);
    OP_REQUIRES(context, shape.dims() >= 2,
                absl::InvalidArgumentError(
                    absl::StrCat("Input must have rank >= 2, got ", shape.DebugString())));
    const int64_t rows = shape.dim_size(shape.dims() - 2);
    const int64_t columns = shape.dim_size(shape.dims() - 1);
    const int64_t count = std::min(rows, columns);
    const xla::PrimitiveType type = context->input_xla_type(0);
    // The routine has no half precision.
    const xla::PrimitiveType wide =
        xla::primitive_util::BitWidth(type) < 32 ? xla::PrimitiveType::F32 : type;
    const xla::PrimitiveType real = xla::primitive_util::IsComplexType(wide)
                                        ? xla::primitive_util::ComplexComponentType(wide)
                                        : wide;
    xla::Shape values = MatricesLike(shape, real, 1, count);
    values.DeleteDimension(shape.dims() - 2);
    const xla::Shape left = MatricesLike(shape, wide, rows, is_full_ ? rows : count);
    const xla::Shape right = MatricesLike(shape, wide, is_full_ ? columns : count, columns);
    const Decomposition found =
        shape.num_elements() == 0
            ? OfNothing(context->builder(), values, left, right)
            : Decompose(xla::ConvertElementType(context->Input(0), wide), values, left, right);
    // As TensorFlow's kernels, which give complex numbers for the values of complex matrices.
    context->SetOutput(0, xla::ConvertElementType(found.values, context->output_xla_type(0)));
    const XlaOp nothing = xla::Broadcast(xla::Zero(context->builder(), wide), {0});
    const XlaOp u = has_vectors_ ? found.left : nothing;
    const XlaOp v =
        has_vectors_ ? xla::TransposeInMinorDims(xla::MaybeConjugate(found.right, true)) : nothing;
    context->SetOutput(1, xla::ConvertElementType(u, type));
    context->SetOutput(2, xla::ConvertElementType(v, type));
  }

 private:
  struct Decomposition {
    XlaOp values;
    XlaOp left, right;  // of vectors: U and V*
  };

  Decomposition Decompose(XlaOp matrices, const xla::Shape& values, const xla::Shape& left,
                          const xla::Shape& right) const {
    const xla::Shape results =
        has_vectors_ ? xla::ShapeUtil::MakeTupleShape({values, left, right}) : values;
    const XlaOp call = xla::CustomCall(
        matrices.builder(), "onexpu.svd", {matrices}, results, /*opaque=*/"",
        /*has_side_effect=*/false, /*output_operand_aliasing=*/{}, /*literal=*/nullptr,
        xla::CustomCallSchedule::SCHEDULE_NONE, xla::CustomCallApiVersion::API_VERSION_TYPED_FFI);
    if (!has_vectors_) return {call, {}, {}};
    return {xla::GetTupleElement(call, 0), xla::GetTupleElement(call, 1),
            xla::GetTupleElement(call, 2)};
  }

  // Matrices without elements: any orthonormal vectors will do.
  static Decomposition OfNothing(xla::XlaBuilder* builder, const xla::Shape& values,
                                 const xla::Shape& left, const xla::Shape& right) {
    const auto identities = [&](const xla::Shape& shape) {
      const auto sizes = shape.dimensions();
      return xla::Broadcast(xla::IdentityMatrix(builder, shape.element_type(),
                                                sizes[sizes.size() - 2], sizes[sizes.size() - 1]),
                            sizes.first(sizes.size() - 2));
    };
    return {xla::Zeros(builder, values), identities(left), identities(right)};
  }

  bool has_vectors_ = true, is_full_ = false;
};

}  // namespace

void RegisterSingularValues() { RegisterTranslation<SvdKernel>(TranslationOf("Svd")); }

}  // namespace onexpu::tf_plugin
