#include "tf_plugin/kernels/tensor_list/ragged_arithmetic.h"

#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/register_types.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_key.h"
#include "tensorflow/core/framework/types.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataTypeString;
using ::tensorflow::RaggedTensorVariant;
using ::tensorflow::Tensor;

absl::Status Unsupported(const char* operation, tensorflow::DataType type) {
  return absl::UnimplementedError(
      absl::StrCat("onexpu: ", operation, " of ragged tensors of type ", DataTypeString(type),
                   " is not supported. Cast the values to a numeric type."));
}

absl::Status CheckPair(const RaggedTensorVariant& a, const RaggedTensorVariant& b) {
  if (a.values().dtype() != b.values().dtype()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Can't add RaggedTensorVariants of different dtypes. One is ",
                     DataTypeString(a.values().dtype()), " and the other is ",
                     DataTypeString(b.values().dtype())));
  }
  if (a.ragged_rank() != b.ragged_rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Can't add RaggedTensorVariants of different ragged rank. One is ",
                     a.ragged_rank(), " and the other is ", b.ragged_rank()));
  }
  for (int i = 0; i < a.ragged_rank(); ++i) {
    if (tensorflow::TensorKey(a.splits(i)) != tensorflow::TensorKey(b.splits(i))) {
      return absl::InvalidArgumentError(
          "Can't add RaggedTensorVariants with different row_splits.");
    }
  }
  if (a.values().shape() != b.values().shape()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Can't add RaggedTensorVariants with values of different shapes: ",
                     a.values().shape().DebugString(), " and ", b.values().shape().DebugString()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Add(const Tensor& a, const Tensor& b) {
  Tensor sum(tensorflow::cpu_allocator(), a.dtype(), a.shape());
  switch (a.dtype()) {
#define ONEXPU_ADD(T)                          \
  case tensorflow::DataTypeToEnum<T>::value:   \
    sum.flat<T>() = a.flat<T>() + b.flat<T>(); \
    break;
    TF_CALL_NUMBER_TYPES(ONEXPU_ADD)
#undef ONEXPU_ADD
    default:
      return Unsupported("AddN", a.dtype());
  }
  return sum;
}

}  // namespace

absl::StatusOr<RaggedTensorVariant> AddRagged(const RaggedTensorVariant& a,
                                              const RaggedTensorVariant& b) {
  TF_RETURN_IF_ERROR(CheckPair(a, b));
  TF_ASSIGN_OR_RETURN(Tensor sum, Add(a.values(), b.values()));
  return RaggedTensorVariant(std::move(sum), a.nested_splits());
}

absl::StatusOr<RaggedTensorVariant> ZerosOfRagged(const RaggedTensorVariant& ragged) {
  const Tensor& values = ragged.values();
  if (!tensorflow::DataTypeCanUseMemcpy(values.dtype())) {
    return Unsupported("ZerosLike", values.dtype());
  }
  Tensor zeros(tensorflow::cpu_allocator(), values.dtype(), values.shape());
  if (zeros.NumElements() > 0) std::memset(zeros.data(), 0, zeros.TotalBytes());
  return RaggedTensorVariant(std::move(zeros), ragged.nested_splits());
}

}  // namespace onexpu::tf_plugin
