// Kernels that make a list out of a tensor: TensorListFromTensor, -Split, -Scatter and their kin.
//
// The tensor is cut by programs on the device; see tensor_list_reads.cc.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/kernels/list_kernels.h"
#include "tf_plugin/kernels/support/device_types.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/tensor_list/tensor_pieces.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelContext;
using ::tensorflow::PartialTensorShape;
using ::tensorflow::Tensor;
using ::tensorflow::TensorList;
using ::tensorflow::TensorShape;

class ListWriter : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) final { OP_REQUIRES_OK(context, Write(context)); }

 protected:
  virtual absl::Status Write(OpKernelContext* context) = 0;
};

absl::Status RequireRows(const Tensor& tensor) {
  if (tensor.dims() >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Tensor must be at least a vector, but saw shape: ", tensor.shape().DebugString()));
}

absl::StatusOr<PartialTensorShape> ElementShape(const Tensor& input) {
  if (input.dims() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "element_shape must be at most rank 1 but has the shape of ", input.shape().DebugString()));
  }
  PartialTensorShape shape;
  TF_RETURN_IF_ERROR(tensorflow::TensorShapeFromTensor(input, &shape));
  return shape;
}

absl::Status CheckRowShape(const PartialTensorShape& element_shape, const Tensor& tensor) {
  TensorShape row = tensor.shape();
  row.RemoveDim(0);
  if (element_shape.IsCompatibleWith(row)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Specified a list with shape ",
                                                 element_shape.DebugString(),
                                                 " from a tensor with shape ", row.DebugString()));
}

absl::Status OutputList(OpKernelContext* context, TensorList list) {
  Tensor* output = nullptr;
  tensorflow::AllocatorAttributes host;
  host.set_on_host(true);
  TF_RETURN_IF_ERROR(context->allocate_output(0, {}, &output, host));
  output->scalar<tensorflow::Variant>()() = std::move(list);
  return absl::OkStatus();
}

class TensorListFromTensorKernel final : public ListWriter {
 public:
  using ListWriter::ListWriter;

 private:
  absl::Status Write(OpKernelContext* context) override {
    const Tensor& tensor = context->input(0);
    TF_RETURN_IF_ERROR(RequireRows(tensor));
    TensorList list;
    list.element_dtype = tensor.dtype();
    TF_ASSIGN_OR_RETURN(list.element_shape, ElementShape(context->input(1)));
    TF_RETURN_IF_ERROR(CheckRowShape(list.element_shape, tensor));
    TF_ASSIGN_OR_RETURN(list.tensors(), CutIntoRows(context, tensor));
    return OutputList(context, std::move(list));
  }
};

class TensorListSplitKernel final : public ListWriter {
 public:
  using ListWriter::ListWriter;

 private:
  absl::Status Write(OpKernelContext* context) override {
    const Tensor& tensor = context->input(0);
    TF_RETURN_IF_ERROR(RequireRows(tensor));
    TensorList list;
    list.element_dtype = tensor.dtype();
    TF_ASSIGN_OR_RETURN(list.element_shape, ElementShape(context->input(1)));
    if (!list.element_shape.unknown_rank()) {
      if (list.element_shape.dims() < 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("TensorListSplit requires element_shape to be at least of rank 1, but "
                         "saw: ",
                         list.element_shape.DebugString()));
      }
      PartialTensorShape whole = list.element_shape;
      whole.set_dim(0, -1);
      if (!whole.IsCompatibleWith(tensor.shape())) {
        return absl::InvalidArgumentError(absl::StrCat(
            "tensor shape ", tensor.shape().DebugString(), " is not compatible with element_shape ",
            list.element_shape.DebugString()));
      }
    }
    const Tensor& lengths = context->input(2);
    if (lengths.dims() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Expected lengths to be a vector, received shape: ", lengths.shape().DebugString()));
    }
    const auto values = lengths.vec<int64_t>();
    const std::vector<int64_t> rows(values.data(), values.data() + values.size());
    int64_t total = 0;
    for (const int64_t length : rows) {
      if (length < 0) {
        return absl::InvalidArgumentError(absl::StrCat("Invalid value in lengths: ", length));
      }
      if (length > tensor.dim_size(0) - total) {
        return absl::InvalidArgumentError(absl::StrCat("Attempting to slice [", total, ", ",
                                                       total + length, "] from tensor with length ",
                                                       tensor.dim_size(0)));
      }
      total += length;
    }
    if (total != tensor.dim_size(0)) {
      return absl::InvalidArgumentError(absl::StrCat("Unused values in tensor. Length of tensor: ",
                                                     tensor.dim_size(0), " Values used: ", total));
    }
    TF_ASSIGN_OR_RETURN(list.tensors(), CutRows(context, tensor, rows));
    return OutputList(context, std::move(list));
  }
};

absl::StatusOr<std::vector<int32_t>> ScatterIndices(const Tensor& tensor, const Tensor& indices) {
  TF_RETURN_IF_ERROR(RequireRows(tensor));
  if (indices.dims() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected indices to be a vector, but received shape: ", indices.shape().DebugString()));
  }
  if (indices.NumElements() != tensor.dim_size(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Invalid number of rows in input tensor. Expected: ", indices.NumElements(),
                     " Actual: ", tensor.dim_size(0)));
  }
  const auto values = indices.vec<int32_t>();
  for (int64_t i = 0; i < values.size(); ++i) {
    if (values(i) >= 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Indices in TensorListScatter must all be non-negative. Got ", values(i)));
  }
  return std::vector<int32_t>(values.data(), values.data() + values.size());
}

absl::Status Scatter(OpKernelContext* context, const Tensor& tensor,
                     absl::Span<const int32_t> indices, TensorList* list) {
  const int64_t highest = indices.empty() ? -1 : *std::max_element(indices.begin(), indices.end());
  if (highest >= static_cast<int64_t>(list->tensors().size())) {
    list->tensors().resize(highest + 1, Tensor(tensorflow::DT_INVALID));
  }
  TF_ASSIGN_OR_RETURN(std::vector<Tensor> rows, CutIntoRows(context, tensor));
  for (size_t i = 0; i < indices.size(); ++i) {
    list->tensors()[indices[i]] = std::move(rows[i]);
  }
  return absl::OkStatus();
}

// TensorListScatter, and V2 with the number of elements as a fourth input.
class TensorListScatterKernel final : public ListWriter {
 public:
  using ListWriter::ListWriter;

 private:
  absl::Status Write(OpKernelContext* context) override {
    const Tensor& tensor = context->input(0);
    if (context->num_inputs() > 3 && context->input(3).dims() != 0) {
      return absl::InvalidArgumentError(absl::StrCat("num_elements must be a scalar, not of shape ",
                                                     context->input(3).shape().DebugString()));
    }
    TF_ASSIGN_OR_RETURN(const std::vector<int32_t> indices,
                        ScatterIndices(tensor, context->input(1)));
    TensorList list;
    list.element_dtype = tensor.dtype();
    TF_ASSIGN_OR_RETURN(list.element_shape, ElementShape(context->input(2)));
    TF_RETURN_IF_ERROR(CheckRowShape(list.element_shape, tensor));
    if (context->num_inputs() > 3) {
      TF_RETURN_IF_ERROR(Resize(context->input(3), indices, &list));
    }
    TF_RETURN_IF_ERROR(Scatter(context, tensor, indices, &list));
    return OutputList(context, std::move(list));
  }

  static absl::Status Resize(const Tensor& num_elements, absl::Span<const int32_t> indices,
                             TensorList* list) {
    const int32_t size = num_elements.scalar<int32_t>()();
    if (size < -1) {
      return absl::InvalidArgumentError(
          absl::StrCat("TensorListScatter expects num_elements >= -1, found: ", size));
    }
    if (size == -1) return absl::OkStatus();
    for (const int32_t index : indices) {
      if (index < size) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "TensorListScatter: Trying to scatter at index ", index, " in list with size ", size));
    }
    list->tensors().resize(size, Tensor(tensorflow::DT_INVALID));
    return absl::OkStatus();
  }
};

class TensorListScatterIntoExistingListKernel final : public ListWriter {
 public:
  using ListWriter::ListWriter;

 private:
  absl::Status Write(OpKernelContext* context) override {
    const TensorList* list = nullptr;
    TF_RETURN_IF_ERROR(tensorflow::GetInputList(context, 0, &list));
    const Tensor& tensor = context->input(1);
    if (tensor.dtype() != list->element_dtype) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Invalid data types; input tensor type: ", tensorflow::DataTypeString(tensor.dtype()),
          " list element_type: ", tensorflow::DataTypeString(list->element_dtype)));
    }
    TF_ASSIGN_OR_RETURN(const std::vector<int32_t> indices,
                        ScatterIndices(tensor, context->input(2)));
    TF_RETURN_IF_ERROR(CheckRowShape(list->element_shape, tensor));
    TensorList* output = nullptr;
    TF_RETURN_IF_ERROR(tensorflow::ForwardInputOrCreateNewList(context, 0, 0, *list, &output));
    return Scatter(context, tensor, indices, output);
  }
};

// One row for each of a vector of lists.
class TensorListPushBackBatchKernel final : public ListWriter {
 public:
  using ListWriter::ListWriter;

 private:
  absl::Status Write(OpKernelContext* context) override {
    const Tensor& handles = context->input(0);
    const Tensor& tensor = context->input(1);
    TF_RETURN_IF_ERROR(RequireRows(tensor));
    if (handles.dims() != 1 || handles.NumElements() != tensor.dim_size(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected tensor.shape[0] == input_handles.size, but saw ",
                       tensor.dim_size(0), " vs. ", handles.shape().DebugString()));
    }
    Tensor* output = nullptr;
    tensorflow::AllocatorAttributes host;
    host.set_on_host(true);
    TF_RETURN_IF_ERROR(context->allocate_output(0, handles.shape(), &output, host));
    if (handles.NumElements() == 0) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(std::vector<Tensor> rows, CutIntoRows(context, tensor));
    TensorShape row = tensor.shape();
    row.RemoveDim(0);
    for (int64_t i = 0; i < handles.NumElements(); ++i) {
      const auto* list = handles.vec<tensorflow::Variant>()(i).get<TensorList>();
      if (list == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat("Input handle at index ", i, " is not a list."));
      }
      if (list->element_dtype != tensor.dtype()) {
        return absl::InvalidArgumentError(
            absl::StrCat("Invalid data type at index ", i, "; op elements ",
                         tensorflow::DataTypeString(tensor.dtype()), " but list elements ",
                         tensorflow::DataTypeString(list->element_dtype)));
      }
      if (!list->element_shape.IsCompatibleWith(row)) {
        return absl::InvalidArgumentError(
            absl::StrCat("Tried to append a tensor with incompatible shape to a list at index ", i,
                         ". Op element shape: ", row.DebugString(),
                         " list shape: ", list->element_shape.DebugString()));
      }
      TensorList longer = list->Copy();
      longer.tensors().push_back(std::move(rows[i]));
      output->vec<tensorflow::Variant>()(i) = std::move(longer);
    }
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterTensorListWrites() {
  constexpr char kType[] = "element_dtype";
  Register<TensorListFromTensorKernel>(XpuKernel("TensorListFromTensor")
                                           .TypeConstraint(kType, kDeviceTypes)
                                           .HostMemory("element_shape"));
  Register<TensorListSplitKernel>(XpuKernel("TensorListSplit")
                                      .TypeConstraint(kType, kDeviceTypes)
                                      .HostMemory("element_shape")
                                      .HostMemory("lengths"));
  Register<TensorListScatterKernel>(XpuKernel("TensorListScatter")
                                        .TypeConstraint(kType, kDeviceTypes)
                                        .HostMemory("indices")
                                        .HostMemory("element_shape"));
  Register<TensorListScatterKernel>(XpuKernel("TensorListScatterV2")
                                        .TypeConstraint(kType, kDeviceTypes)
                                        .HostMemory("indices")
                                        .HostMemory("element_shape")
                                        .HostMemory("num_elements"));
  Register<TensorListScatterIntoExistingListKernel>(XpuKernel("TensorListScatterIntoExistingList")
                                                        .TypeConstraint(kType, kDeviceTypes)
                                                        .HostMemory("indices"));
  Register<TensorListPushBackBatchKernel>(
      XpuKernel("TensorListPushBackBatch").TypeConstraint(kType, kDeviceTypes));
}

}  // namespace onexpu::tf_plugin
