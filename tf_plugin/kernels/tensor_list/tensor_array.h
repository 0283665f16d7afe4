// TensorFlow's TensorArray with elements on XPU.
//
// The array itself is TensorFlow's class: its bookkeeping and its errors. What it does to elements,
// adding and zeros, runs on the device.
#ifndef TF_PLUGIN_KERNELS_TENSOR_LIST_TENSOR_ARRAY_H_
#define TF_PLUGIN_KERNELS_TENSOR_LIST_TENSOR_ARRAY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/kernels/tensor_array.h"
#include "tensorflow/core/lib/core/refcount.h"

namespace onexpu::tf_plugin {

using TensorArrayPtr = tensorflow::core::RefCountPtr<tensorflow::TensorArray>;

// The array whose handle is input 0. INVALID_ARGUMENT if its elements are not of `type`.
absl::StatusOr<TensorArrayPtr> InputArray(tensorflow::OpKernelContext* context);
absl::StatusOr<TensorArrayPtr> InputArray(tensorflow::OpKernelContext* context,
                                          tensorflow::DataType type);

// Elements by their indices, zeros for elements that were not written. Each has a buffer.
absl::StatusOr<std::vector<tensorflow::Tensor>> ReadElements(tensorflow::OpKernelContext* context,
                                                             tensorflow::TensorArray& array,
                                                             const std::vector<int32_t>& indices);

// Sets elements; those of an array of gradients that are there already grow by the new ones.
absl::Status WriteElements(tensorflow::OpKernelContext* context, tensorflow::TensorArray& array,
                           const std::vector<int32_t>& indices,
                           std::vector<tensorflow::Tensor> elements);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_TENSOR_LIST_TENSOR_ARRAY_H_
