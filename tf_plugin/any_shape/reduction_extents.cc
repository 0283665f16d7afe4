#include "tf_plugin/any_shape/reduction_extents.h"

#include <utility>
#include <vector>

#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {

std::optional<ReductionExtents> ReductionExtents::Of(const tensorflow::TensorShape& shape,
                                                     const ReducedDimensions& is_reduced,
                                                     bool keep_dims) {
  ReductionExtents extents;
  int64_t* group = &extents.rows;
  for (int d = 0; d < shape.dims(); ++d) {
    const int64_t size = shape.dim_size(d);
    if (!is_reduced[d]) {
      extents.result.AddDim(size);
    } else if (keep_dims) {
      extents.result.AddDim(1);
    }
    if (size == 0) return std::nullopt;
    if (size == 1) continue;
    if (is_reduced[d] && group == &extents.columns) return std::nullopt;
    if (is_reduced[d]) group = &extents.length;
    if (!is_reduced[d] && group == &extents.length) group = &extents.columns;
    *group *= size;
  }
  return extents;
}

absl::Status ReductionExtents::Launch(tensorflow::OpKernelContext& context,
                                      absl::string_view handler, absl::string_view attribute,
                                      absl::string_view value) const {
  FfiAttributes attributes;
  attributes.Add("rows", rows).Add("length", length).Add("columns", columns).Add(attribute, value);
  TF_ASSIGN_OR_RETURN(PJRT_Buffer * operand, BufferOf(context.input(0)));
  TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> results,
                      tf_plugin::Launch(context, handler, {operand},
                                        {{ResultType{context.expected_output_dtype(0), result}}},
                                        attributes.Build()));
  return SetOutput(&context, 0, result, std::move(results.front()));
}

}  // namespace onexpu::tf_plugin
