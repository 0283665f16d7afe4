// Gather, GatherV2 and ResourceGather by a kernel that takes the sizes from its operands.
#ifndef TF_PLUGIN_ANY_SHAPE_GATHER_H_
#define TF_PLUGIN_ANY_SHAPE_GATHER_H_

#include <memory>

#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/any_shape/any_shape_run.h"

namespace onexpu::tf_plugin {

// Null for other ops.
std::unique_ptr<AnyShapeRun> MakeGather(const tensorflow::OpKernelConstruction& construction);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_ANY_SHAPE_GATHER_H_
