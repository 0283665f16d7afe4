// Sums, means, products, minima and maxima by kernels whose sizes are arguments.
#ifndef TF_PLUGIN_ANY_SHAPE_REDUCTION_H_
#define TF_PLUGIN_ANY_SHAPE_REDUCTION_H_

#include <memory>

#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/any_shape/any_shape_run.h"

namespace onexpu::tf_plugin {

// Null for other ops, and for types that have no kernel.
std::unique_ptr<AnyShapeRun> MakeReduction(const tensorflow::OpKernelConstruction& construction);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_ANY_SHAPE_REDUCTION_H_
