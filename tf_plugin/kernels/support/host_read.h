// A few bytes of a device or pinned host buffer, for a kernel that goes on once it knows them.
#ifndef TF_PLUGIN_KERNELS_SUPPORT_HOST_READ_H_
#define TF_PLUGIN_KERNELS_SUPPORT_HOST_READ_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"

namespace onexpu::tf_plugin {

// Copies the buffer to the host and calls `done` with its bytes, or with the error that kept its
// contents from being defined. `done` runs at once if they are there after some microseconds, else
// on one of TensorFlow's threads; it may take its time.
void ReadBytesAsync(tensorflow::OpKernelContext* context, OwnedBuffer buffer,
                    std::function<void(absl::StatusOr<std::vector<uint8_t>>)> done);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_SUPPORT_HOST_READ_H_
