// Translations of TensorFlow that lose the sizes of operands with dynamic dimensions: their results
// get the sizes afterwards, or the op is rejected where the values are wrong as well.
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

// Gives results the sizes of the operand that they have their shape from, for translations that
// give them the upper bounds. To be called after the translation.
absl::Status SetResultSizes(tensorflow::OpKernelContext& context);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_XLA_BACKEND_DYNAMIC_SIZE_RULES_H_
