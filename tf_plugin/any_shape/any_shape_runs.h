// Which way without a compilation an op has (any_shape_run.h).
#ifndef TF_PLUGIN_ANY_SHAPE_ANY_SHAPE_RUNS_H_
#define TF_PLUGIN_ANY_SHAPE_ANY_SHAPE_RUNS_H_

#include <memory>

#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/any_shape/any_shape_run.h"

namespace onexpu::tf_plugin {

// Null if the op has no such way.
std::unique_ptr<AnyShapeRun> MakeAnyShapeRun(const tensorflow::OpKernelConstruction& construction);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_ANY_SHAPE_ANY_SHAPE_RUNS_H_
