// ArgMax and ArgMin by a kernel that takes the sizes as arguments.
#ifndef TF_PLUGIN_ANY_SHAPE_ARG_EXTREME_H_
#define TF_PLUGIN_ANY_SHAPE_ARG_EXTREME_H_

#include <memory>

#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/any_shape/any_shape_run.h"

namespace onexpu::tf_plugin {

// Null for other ops, and types that the kernel does not have.
std::unique_ptr<AnyShapeRun> MakeArgExtreme(const tensorflow::OpKernelConstruction& construction);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_ANY_SHAPE_ARG_EXTREME_H_
