// An array whose reduced dimensions are adjacent, as three dimensions, of which the second is
// reduced.
#ifndef TF_PLUGIN_ANY_SHAPE_REDUCTION_EXTENTS_H_
#define TF_PLUGIN_ANY_SHAPE_REDUCTION_EXTENTS_H_

#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace onexpu::tf_plugin {

// For each dimension, whether it is reduced.
using ReducedDimensions = absl::InlinedVector<bool, 4>;

// As the kernels of custom_kernels/builtin/reduction/ take an array.
struct ReductionExtents {
  // Nothing if dimensions that stay lie between those that are reduced, or there are no elements.
  static std::optional<ReductionExtents> Of(const tensorflow::TensorShape& shape,
                                            const ReducedDimensions& is_reduced, bool keep_dims);

  // Runs a handler of those kernels on operand 0, with its other attribute, and sets output 0.
  absl::Status Launch(tensorflow::OpKernelContext& context, absl::string_view handler,
                      absl::string_view attribute, absl::string_view value) const;

  int64_t rows = 1, length = 1, columns = 1;
  tensorflow::TensorShape result;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_ANY_SHAPE_REDUCTION_EXTENTS_H_
