#include "tf_plugin/kernels/tensor_list/tensor_array.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/compiler/tf2xla/type_util.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tf_plugin/kernels/support/device_program.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "tf_plugin/kernels/support/zero_buffer.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorArray;
using ::tensorflow::TensorShape;

// Chooses the functions below among TensorFlow's, which go by device and element type. Ours ask the
// tensors for their types.
struct XpuElements {};
using AnyType = float;

absl::StatusOr<xla::XlaComputation> BuildSum(DataType type, int64_t size) {
  xla::PrimitiveType element_type;
  TF_RETURN_IF_ERROR(tensorflow::DataTypeToPrimitiveType(type, &element_type));
  const xla::Shape shape = xla::ShapeUtil::MakeShape(element_type, {size});
  xla::XlaBuilder builder("add_to_element");
  xla::Add(xla::Parameter(&builder, 0, shape, "element"),
           xla::Parameter(&builder, 1, shape, "addend"));
  return builder.Build();
}

absl::StatusOr<Tensor> Sum(OpKernelContext* context, const Tensor& a, const Tensor& b) {
  const int64_t size = a.NumElements();
  TF_ASSIGN_OR_RETURN(const OwnedBuffer flat_a, ViewOfTensor(*context, a, TensorShape({size})));
  TF_ASSIGN_OR_RETURN(const OwnedBuffer flat_b, ViewOfTensor(*context, b, TensorShape({size})));
  TF_ASSIGN_OR_RETURN(
      const std::vector<OwnedBuffer> sum,
      RunDeviceProgram(
          *context,
          absl::StrCat("add_to_element ", tensorflow::DataTypeString(a.dtype()), " ", size),
          [&] { return BuildSum(a.dtype(), size); }, {flat_a.get(), flat_b.get()}));
  TF_ASSIGN_OR_RETURN(OwnedBuffer shaped, ViewOf(sum.front().get(), a.shape()));
  return MakeTensor(context, a.dtype(), a.shape(), std::move(shaped));
}

}  // namespace
}  // namespace onexpu::tf_plugin

namespace tensorflow::tensor_array {

template <>
absl::Status AddToTensor<onexpu::tf_plugin::XpuElements, onexpu::tf_plugin::AnyType>(
    OpKernelContext* context, Tensor* sum, const Tensor* current, const Tensor* add) {
  TF_ASSIGN_OR_RETURN(*sum, onexpu::tf_plugin::Sum(context, *current, *add));
  return absl::OkStatus();
}

template <>
absl::Status TensorSetZero<onexpu::tf_plugin::XpuElements, onexpu::tf_plugin::AnyType>(
    OpKernelContext* context, Tensor* value) {
  TF_ASSIGN_OR_RETURN(onexpu::tf_plugin::OwnedBuffer zeros,
                      onexpu::tf_plugin::ZeroBuffer(*context, value->dtype(), value->shape()));
  TF_ASSIGN_OR_RETURN(*value, onexpu::tf_plugin::MakeTensor(context, value->dtype(), value->shape(),
                                                            std::move(zeros)));
  return absl::OkStatus();
}

}  // namespace tensorflow::tensor_array

namespace onexpu::tf_plugin {

absl::StatusOr<TensorArrayPtr> InputArray(OpKernelContext* context) {
  TensorArrayPtr array;
  TF_RETURN_IF_ERROR(
      tensorflow::LookupResource(context, tensorflow::HandleFromInput(context, 0), &array));
  return array;
}

absl::StatusOr<TensorArrayPtr> InputArray(OpKernelContext* context, DataType type) {
  TF_ASSIGN_OR_RETURN(TensorArrayPtr array, InputArray(context));
  if (array->ElemType() == type) return array;
  return absl::InvalidArgumentError(
      absl::StrCat("TensorArray dtype is ", tensorflow::DataTypeString(array->ElemType()),
                   " but the op's is ", tensorflow::DataTypeString(type), "."));
}

absl::StatusOr<std::vector<Tensor>> ReadElements(OpKernelContext* context, TensorArray& array,
                                                 const std::vector<int32_t>& indices) {
  std::vector<Tensor> elements;
  TF_RETURN_IF_ERROR((array.ReadMany<XpuElements, AnyType>(context, indices, &elements)));
  for (Tensor& element : elements) {
    // TensorFlow makes these anew, without a buffer.
    if (element.NumElements() > 0) continue;
    TF_ASSIGN_OR_RETURN(OwnedBuffer empty,
                        UninitializedBuffer(*context, element.dtype(), element.shape()));
    TF_ASSIGN_OR_RETURN(element,
                        MakeTensor(context, element.dtype(), element.shape(), std::move(empty)));
  }
  return elements;
}

absl::Status WriteElements(OpKernelContext* context, TensorArray& array,
                           const std::vector<int32_t>& indices, std::vector<Tensor> elements) {
  return array.WriteOrAggregateMany<XpuElements, AnyType>(context, indices, &elements);
}

}  // namespace onexpu::tf_plugin
