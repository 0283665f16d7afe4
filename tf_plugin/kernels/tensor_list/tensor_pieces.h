// Tensors on XPU cut along their first dimension, and joined along it, by programs on the device.
#ifndef TF_PLUGIN_KERNELS_TENSOR_LIST_TENSOR_PIECES_H_
#define TF_PLUGIN_KERNELS_TENSOR_LIST_TENSOR_PIECES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace onexpu::tf_plugin {

// Whether the tensor was set: elements of lists and arrays may be unset.
inline bool IsSet(const tensorflow::Tensor& tensor) {
  return tensor.dtype() != tensorflow::DT_INVALID;
}

// `tensor`, of one dimension at least, cut into pieces of `lengths` rows, which are all its rows.
absl::StatusOr<std::vector<tensorflow::Tensor>> CutRows(tensorflow::OpKernelContext* context,
                                                        const tensorflow::Tensor& tensor,
                                                        absl::Span<const int64_t> lengths);

// The rows of `tensor`, without the first dimension.
absl::StatusOr<std::vector<tensorflow::Tensor>> CutIntoRows(tensorflow::OpKernelContext* context,
                                                            const tensorflow::Tensor& tensor);

// The elements one after the other, as output `index` of `shape`. Elements that are not set count
// as zeros of their entry in `shapes`.
absl::Status OutputJoined(tensorflow::OpKernelContext* context, int index,
                          tensorflow::DataType type,
                          absl::Span<const tensorflow::Tensor* const> elements,
                          absl::Span<const tensorflow::TensorShape> shapes,
                          const tensorflow::TensorShape& shape);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_TENSOR_LIST_TENSOR_PIECES_H_
