// Runs pointwise ops by resizable Programs: one for each op, its attributes and which operands are
// broadcast, whatever their sizes.
#ifndef TF_PLUGIN_ANY_SHAPE_POINTWISE_PROGRAM_H_
#define TF_PLUGIN_ANY_SHAPE_POINTWISE_PROGRAM_H_

#include <memory>

#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/any_shape/any_shape_run.h"

namespace onexpu::tf_plugin {

// Null for other ops.
std::unique_ptr<AnyShapeRun> MakePointwiseProgram(
    const tensorflow::OpKernelConstruction& construction);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_ANY_SHAPE_POINTWISE_PROGRAM_H_
