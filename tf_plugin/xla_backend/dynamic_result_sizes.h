// Sets the sizes of results whose translation computes the right values, but returns the upper
// bounds of dynamic dimensions as sizes.
#ifndef TF_PLUGIN_XLA_BACKEND_DYNAMIC_RESULT_SIZES_H_
#define TF_PLUGIN_XLA_BACKEND_DYNAMIC_RESULT_SIZES_H_

#include "absl/status/status.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace onexpu::tf_plugin {

// Gives the op's results the sizes of the operands' dimensions that determine their shape. Call it
// after the translation.
absl::Status SetResultSizes(tensorflow::OpKernelContext& context);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_XLA_BACKEND_DYNAMIC_RESULT_SIZES_H_
