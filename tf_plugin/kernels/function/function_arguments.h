// What an op that calls a function hands it and gets from it.
//
// Functions have int32 on the host, and the operands of some ops that call one come in device
// memory all the same: what the function read would be a handle. (TensorFlow places the operands of
// While and PartitionedCall as functions have them.)
#ifndef TF_PLUGIN_KERNELS_FUNCTION_FUNCTION_ARGUMENTS_H_
#define TF_PLUGIN_KERNELS_FUNCTION_FUNCTION_ARGUMENTS_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

namespace onexpu::tf_plugin {

using Then = std::function<void(absl::Status)>;

// Appends the operands from `index` on as functions take them, then calls `then`.
void TakeOperands(tensorflow::OpKernelContext* context, int index,
                  std::shared_ptr<std::vector<tensorflow::Tensor>> arguments, Then then);

// The reverse: int32 goes back to the device.
absl::Status GiveResults(tensorflow::OpKernelContext* context,
                         const std::vector<tensorflow::Tensor>& results);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_FUNCTION_FUNCTION_ARGUMENTS_H_
