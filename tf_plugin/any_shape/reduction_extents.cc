#include "tf_plugin/any_shape/reduction_extents.h"

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

}  // namespace onexpu::tf_plugin
