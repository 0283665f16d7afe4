#include "tf_plugin/translations/image/index_table.h"

#include "xla/hlo/builder/lib/constants.h"
#include "xla/shape.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/xla_data.pb.h"

namespace onexpu::tf_plugin {

using ::xla::XlaOp;

absl::StatusOr<XlaOp> GatherTable(XlaOp x, int64_t dimension, const IndexTable& table) {
  xla::XlaBuilder* const builder = x.builder();
  TF_ASSIGN_OR_RETURN(const xla::Shape shape, builder->GetShape(x));
  xla::GatherDimensionNumbers dimensions;
  std::vector<int64_t> slice(shape.dimensions().begin(), shape.dimensions().end());
  slice[dimension] = 1;
  for (int64_t d = 0; d < static_cast<int64_t>(slice.size()); ++d) {
    if (d != dimension) dimensions.add_offset_dims(d < dimension ? d : d + 1);
  }
  dimensions.add_collapsed_slice_dims(dimension);
  dimensions.add_start_index_map(dimension);
  dimensions.set_index_vector_dim(2);
  const XlaOp indices =
      xla::Reshape(xla::ConstantR1<int64_t>(builder, table.indices), {table.rows, table.columns});
  return xla::Gather(x, indices, dimensions, slice);
}

absl::StatusOr<XlaOp> ZeroUnused(XlaOp elements, int64_t dimension, const IndexTable& table) {
  xla::XlaBuilder* const builder = elements.builder();
  TF_ASSIGN_OR_RETURN(const xla::Shape shape, builder->GetShape(elements));
  const XlaOp is_used = xla::Ne(
      xla::Reshape(xla::ConstantR1<int32_t>(builder, table.is_used), {table.rows, table.columns}),
      xla::ConstantR0<int32_t>(builder, 0));
  return xla::Select(xla::BroadcastInDim(is_used, shape.dimensions(), {dimension, dimension + 1}),
                     elements, xla::ZerosLike(elements));
}

}  // namespace onexpu::tf_plugin
