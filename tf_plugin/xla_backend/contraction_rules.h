// Checks of contractions (Einsum, BatchMatMul) of operands with dynamic dimensions.
#ifndef TF_PLUGIN_XLA_BACKEND_CONTRACTION_RULES_H_
#define TF_PLUGIN_XLA_BACKEND_CONTRACTION_RULES_H_

#include "absl/status/status.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace onexpu::tf_plugin {

// UNIMPLEMENTED, with the op, the operands' shapes and what to do, if two dimensions that must have
// the same size have different upper bounds, or one a bound and the other a known size. The
// translations pair elements up to the bounds, also beyond the end of the other operand.
absl::Status CheckContractions(tensorflow::OpKernelContext& context);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_XLA_BACKEND_CONTRACTION_RULES_H_
