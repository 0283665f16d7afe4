// Softmax, its logarithm and the cross-entropy of labels by kernels that take the sizes from their
// operands.
#ifndef TF_PLUGIN_ANY_SHAPE_SOFTMAX_H_
#define TF_PLUGIN_ANY_SHAPE_SOFTMAX_H_

#include <memory>

#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/any_shape/any_shape_run.h"

namespace onexpu::tf_plugin {

// Null for other ops.
std::unique_ptr<AnyShapeRun> MakeSoftmax(const tensorflow::OpKernelConstruction& construction);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_ANY_SHAPE_SOFTMAX_H_
