// Concat and ConcatV2 of many arrays: by several programs, as one of thousands of operands takes
// minutes to compile.
#ifndef TF_PLUGIN_KERNELS_TENSOR_LIST_LONG_CONCAT_H_
#define TF_PLUGIN_KERNELS_TENSOR_LIST_LONG_CONCAT_H_

#include "tensorflow/core/framework/op_kernel.h"

namespace onexpu::tf_plugin {

// Whether the op that is constructed joins more arrays than one program should take.
bool IsLongConcat(const tensorflow::OpKernelConstruction& construction);

// The kernel for such an op. The axis is on the host.
tensorflow::OpKernel* MakeLongConcat(tensorflow::OpKernelConstruction* construction);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_TENSOR_LIST_LONG_CONCAT_H_
