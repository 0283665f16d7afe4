// Checks of operands with dynamic dimensions, whose size is known only at run time. An op is
// rejected if its translation takes the upper bounds for the sizes and computes wrong values.
#ifndef TF_PLUGIN_XLA_BACKEND_DYNAMIC_SIZE_RULES_H_
#define TF_PLUGIN_XLA_BACKEND_DYNAMIC_SIZE_RULES_H_

#include "absl/status/status.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace onexpu::tf_plugin {

// UNIMPLEMENTED, with the op, the operand's shape and what to do, if the op's translation takes the
// upper bound of a dynamic dimension for its size.
absl::Status CheckDynamicSizes(tensorflow::OpKernelContext& context);

// UNIMPLEMENTED if the op gave a variable a value of dynamic size, which TensorFlow stores with its
// upper bound. To be called after the translation.
absl::Status CheckVariables(tensorflow::OpKernelContext& context);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_XLA_BACKEND_DYNAMIC_SIZE_RULES_H_
