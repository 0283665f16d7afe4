// What kernels of sparse tensors ask of their inputs.
#ifndef TF_PLUGIN_KERNELS_SPARSE_SPARSE_ARGUMENTS_H_
#define TF_PLUGIN_KERNELS_SPARSE_SPARSE_ARGUMENTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"

namespace onexpu::tf_plugin {

// INVALID_ARGUMENT unless the tensor, called `name`, is a vector (1) or a matrix (2).
absl::Status CheckRank(const tensorflow::Tensor& tensor, int rank, absl::string_view name);

// The numbers of a vector in host memory; INVALID_ARGUMENT for what is none.
absl::StatusOr<std::vector<int64_t>> HostVector(const tensorflow::Tensor& tensor,
                                                absl::string_view name);

// Makes output `index` these numbers, on the host or on the device, as the kernel is registered.
absl::Status OutputVector(tensorflow::OpKernelContext* context, int index,
                          absl::Span<const int64_t> numbers);

// INVALID_ARGUMENT unless indices are a matrix with a row for each of a vector of values, and as
// many columns as the shape has dimensions.
absl::Status CheckSparseTensor(const tensorflow::Tensor& indices, const tensorflow::Tensor& values,
                               absl::Span<const int64_t> shape);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_SPARSE_SPARSE_ARGUMENTS_H_
