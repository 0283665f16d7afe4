#include "tf_plugin/xla_backend/dynamic_where.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tf_plugin/xla_backend/dynamic_operands.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/comparators.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelContext;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// Whether each element of `x` is nonzero, without dynamic dimensions: false beyond the sizes.
XlaOp NonZeroWithinSizes(XlaOp x, const xla::Shape& shape) {
  xla::XlaBuilder* const builder = x.builder();
  XlaOp is_found = xla::Ne(x, xla::ZerosLike(x));
  const xla::Shape indices = xla::ShapeUtil::MakeShape(xla::S32, shape.dimensions());
  std::vector<XlaOp> sizes(shape.dimensions().size());
  for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
    if (!shape.is_dynamic_dimension(d)) continue;
    sizes[d] = xla::GetDimensionSize(x, d);
    is_found = xla::RemoveDynamicDimension(is_found, d);
  }
  for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
    if (sizes[d].valid()) {
      is_found = xla::And(is_found, xla::Lt(xla::Iota(builder, indices, d), sizes[d]));
    }
  }
  return is_found;
}

// The indices of the nonzero elements, [count, rank], in row-major order.
XlaOp Indices(XlaOp x, const xla::Shape& shape, xla::PrimitiveType type) {
  xla::XlaBuilder* const builder = x.builder();
  const int64_t count = xla::ShapeUtil::ElementsIn(shape);
  const XlaOp is_found = xla::Reshape(NonZeroWithinSizes(x, shape), {count});
  // A stable sort keeps the order of the nonzero elements.
  const XlaOp is_other = xla::ConvertElementType(xla::Not(is_found), xla::S32);
  const XlaOp sorted =
      xla::Sort({is_other, xla::Iota(builder, xla::S32, count)},
                xla::CreateScalarLtComputation({xla::S32, xla::S32}, builder), /*dimension=*/0,
                /*is_stable=*/true);
  XlaOp index = xla::GetTupleElement(sorted, 1);
  std::vector<XlaOp> columns(shape.dimensions().size());
  for (int64_t d = static_cast<int64_t>(columns.size()) - 1; d >= 0; --d) {
    const XlaOp size = xla::ScalarLike(index, shape.dimensions(d));
    columns[d] = xla::Reshape(xla::Rem(index, size), {count, 1});
    index = index / size;
  }
  const XlaOp found =
      xla::ReduceAll(xla::ConvertElementType(is_found, xla::S32), xla::Zero(builder, xla::S32),
                     xla::CreateScalarAddComputation(xla::S32, builder));
  const XlaOp indices = xla::ConvertElementType(xla::ConcatInDim(builder, columns, 1), type);
  return xla::SetDimensionSize(indices, found, 0);
}

}  // namespace

absl::StatusOr<bool> TranslateDynamicWhere(OpKernelContext& context) {
  if (context.op_kernel().type_string() != "Where") return false;
  const std::optional<xla::Shape> shape = DynamicShape(context.input(0));
  if (!shape.has_value()) return false;
  bool is_found = false;
  for (int64_t d = 1; d < static_cast<int64_t>(shape->dimensions().size()); ++d) {
    is_found |= shape->is_dynamic_dimension(d);
  }
  if (!is_found) return false;
  XlaOpKernelContext translation(&context);
  translation.SetOutput(0, Indices(translation.Input(0), *shape, translation.output_xla_type(0)));
  return true;
}

}  // namespace onexpu::tf_plugin
