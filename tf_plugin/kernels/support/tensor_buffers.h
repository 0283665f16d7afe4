// Between TensorFlow's tensors on XPU and PJRT buffers, in both directions and without a copy.
//
// A tensor on XPU holds a tagged handle, never memory: what a kernel may use of it is its shape,
// its type and, through these functions, its PJRT buffer. Every function may be called from any
// thread.
#ifndef TF_PLUGIN_KERNELS_SUPPORT_TENSOR_BUFFERS_H_
#define TF_PLUGIN_KERNELS_SUPPORT_TENSOR_BUFFERS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/types.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::tf_plugin {

struct BufferDeleter {
  void operator()(PJRT_Buffer* buffer) const;
};
using OwnedBuffer = std::unique_ptr<PJRT_Buffer, BufferDeleter>;

// UNIMPLEMENTED for types that have no array form (strings, resources, variants).
absl::StatusOr<PJRT_Buffer_Type> BufferTypeOf(tensorflow::DataType type);

// The device of that number, the one that the kernel runs on, as TensorFlow's client sees it, and
// that client.
absl::StatusOr<PJRT_Device*> AddressableDevice(int ordinal);
absl::StatusOr<PJRT_Device*> DeviceOf(const tensorflow::OpKernelContext& context);
absl::StatusOr<PJRT_Client*> TensorFlowClient();

// The buffer of a tensor in device memory, borrowed from it.
absl::StatusOr<PJRT_Buffer*> BufferOf(const tensorflow::Tensor& tensor);

// Makes `buffer` the contents of output `index`, or of a new tensor outside of the outputs.
absl::Status SetOutput(tensorflow::OpKernelContext* context, int index,
                       const tensorflow::TensorShape& shape, OwnedBuffer buffer);
absl::StatusOr<tensorflow::Tensor> MakeTensor(tensorflow::OpKernelContext* context,
                                              tensorflow::DataType type,
                                              const tensorflow::TensorShape& shape,
                                              OwnedBuffer buffer);

// A copy of host memory, dense row-major if `byte_strides` is empty. `data` is free on return.
absl::StatusOr<OwnedBuffer> BufferFromHost(const tensorflow::OpKernelContext& context,
                                           tensorflow::DataType type,
                                           const tensorflow::TensorShape& shape, const void* data,
                                           absl::Span<const int64_t> byte_strides);

// An uninitialized buffer, whose contents must not be read.
absl::StatusOr<OwnedBuffer> UninitializedBuffer(const tensorflow::OpKernelContext& context,
                                                tensorflow::DataType type,
                                                const tensorflow::TensorShape& shape);

// Sets output `index` to an uninitialized array, mostly one without elements.
absl::Status OutputUninitialized(tensorflow::OpKernelContext* context, int index,
                                 const tensorflow::TensorShape& shape);

// `buffer`'s memory, or its beginning, as an array of `shape`: shares ownership and readiness.
absl::StatusOr<OwnedBuffer> ViewOf(PJRT_Buffer* buffer, const tensorflow::TensorShape& shape);

// A tensor's buffer as an array of `shape`, also of a tensor without elements, which has none.
absl::StatusOr<OwnedBuffer> ViewOfTensor(const tensorflow::OpKernelContext& context,
                                         const tensorflow::Tensor& tensor,
                                         const tensorflow::TensorShape& shape);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_SUPPORT_TENSOR_BUFFERS_H_
