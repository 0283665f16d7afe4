// A PJRT buffer of zeros, which the device writes. Any thread.
#ifndef TF_PLUGIN_KERNELS_SUPPORT_ZERO_BUFFER_H_
#define TF_PLUGIN_KERNELS_SUPPORT_ZERO_BUFFER_H_

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"

namespace onexpu::tf_plugin {

absl::StatusOr<OwnedBuffer> ZeroBuffer(const tensorflow::OpKernelContext& context,
                                       tensorflow::DataType type,
                                       const tensorflow::TensorShape& shape);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_SUPPORT_ZERO_BUFFER_H_
