#include "tf_plugin/kernels/sparse/sparse_arguments.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {

using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

absl::Status CheckRank(const Tensor& tensor, int rank, absl::string_view name) {
  if (tensor.dims() == rank) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " should be a ",
                                                 rank == 1 ? "vector" : "matrix", ", got shape ",
                                                 tensor.shape().DebugString()));
}

absl::StatusOr<std::vector<int64_t>> HostVector(const Tensor& tensor, absl::string_view name) {
  TF_RETURN_IF_ERROR(CheckRank(tensor, 1, name));
  const auto values = tensor.vec<int64_t>();
  return std::vector<int64_t>(values.data(), values.data() + values.size());
}

absl::Status OutputVector(tensorflow::OpKernelContext* context, int index,
                          absl::Span<const int64_t> numbers) {
  const TensorShape shape({static_cast<int64_t>(numbers.size())});
  if (context->output_memory_type(index) == tensorflow::HOST_MEMORY) {
    Tensor* output = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(index, shape, &output));
    std::copy(numbers.begin(), numbers.end(), output->vec<int64_t>().data());
    return absl::OkStatus();
  }
  TF_ASSIGN_OR_RETURN(OwnedBuffer buffer,
                      BufferFromHost(*context, tensorflow::DT_INT64, shape, numbers.data(), {}));
  return SetOutput(context, index, shape, std::move(buffer));
}

absl::Status CheckSparseTensor(const Tensor& indices, const Tensor& values,
                               absl::Span<const int64_t> shape) {
  TF_RETURN_IF_ERROR(CheckRank(indices, 2, "Input indices"));
  TF_RETURN_IF_ERROR(CheckRank(values, 1, "Input values"));
  if (indices.dim_size(0) != values.dim_size(0)) {
    return absl::InvalidArgumentError(absl::StrCat("Number of elements in indices ",
                                                   indices.shape().DebugString(), " and values ",
                                                   values.shape().DebugString(), " do not match"));
  }
  if (indices.dim_size(1) != static_cast<int64_t>(shape.size())) {
    return absl::InvalidArgumentError(absl::StrCat("Number of dimensions in indices ",
                                                   indices.shape().DebugString(), " and shape [",
                                                   shape.size(), "] do not match"));
  }
  return absl::OkStatus();
}

}  // namespace onexpu::tf_plugin
