// Where of arrays whose size beyond the first dimension is known only at run time. TensorFlow's
// translation moves the elements to the front, but takes their indices from an array of the bounds.
#ifndef TF_PLUGIN_XLA_BACKEND_DYNAMIC_WHERE_H_
#define TF_PLUGIN_XLA_BACKEND_DYNAMIC_WHERE_H_

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace onexpu::tf_plugin {

// Translates the op and returns true if it is such a Where. Call it before TensorFlow's
// translation, which supports all other arrays.
absl::StatusOr<bool> TranslateDynamicWhere(tensorflow::OpKernelContext& context);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_XLA_BACKEND_DYNAMIC_WHERE_H_
