// TensorArrayV3 and its kin, of TensorFlow 1 and of graphs without control flow of version 2:
// arrays that steps of a loop write and read. Handles, indices and lengths are on the host,
// elements and the scalar that orders the ops on the device.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/tensor_util.h"
#include "tf_plugin/kernels/support/device_types.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "tf_plugin/kernels/tensor_list/tensor_array.h"
#include "tf_plugin/kernels/tensor_list/tensor_pieces.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::PartialTensorShape;
using ::tensorflow::ResourceHandle;
using ::tensorflow::Tensor;
using ::tensorflow::TensorArray;
using ::tensorflow::TensorShape;
using ::tensorflow::tstring;

constexpr char kArrays[] = "_tensor_arrays";
constexpr char kGradients[] = "_tensor_array_grads";

// Errors as Status.
class ArrayKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) final { OP_REQUIRES_OK(context, Run(context)); }

 protected:
  virtual absl::Status Run(OpKernelContext* context) = 0;
};

absl::StatusOr<int32_t> Scalar(const Tensor& tensor, absl::string_view name) {
  if (tensor.dims() == 0) return tensor.scalar<int32_t>()();
  return absl::InvalidArgumentError(absl::StrCat(
      "TensorArray ", name, " must be scalar, but had shape: ", tensor.shape().DebugString()));
}

absl::StatusOr<std::vector<int32_t>> Indices(const Tensor& tensor) {
  if (tensor.dims() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected indices to be a vector, but received shape: ", tensor.shape().DebugString()));
  }
  const auto values = tensor.vec<int32_t>();
  return std::vector<int32_t>(values.data(), values.data() + values.size());
}

std::vector<int32_t> FirstIndices(int32_t count) {
  std::vector<int32_t> indices(count);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

absl::Status PassFlowOn(OpKernelContext* context) {
  const Tensor* flow = nullptr;
  TF_RETURN_IF_ERROR(context->input("flow_in", &flow));
  return context->set_output("flow_out", *flow);
}

// The container's name and the array's, as TensorFlow's class wants them.
absl::StatusOr<Tensor> MakeNames(OpKernelContext* context, absl::string_view container,
                                 absl::string_view name) {
  tensorflow::AllocatorAttributes host;
  host.set_on_host(true);
  Tensor names;
  TF_RETURN_IF_ERROR(context->allocate_temp(tensorflow::DT_STRING, TensorShape({2}), &names, host));
  names.vec<tstring>()(0) = container;
  names.vec<tstring>()(1) = name;
  return names;
}

// The outputs of an op that creates an array: its handle, and a dummy scalar.
absl::Status OutputArray(OpKernelContext* context, TensorArray& array) {
  Tensor* handle = nullptr;
  TF_RETURN_IF_ERROR(context->allocate_output(0, TensorShape({}), &handle));
  handle->scalar<ResourceHandle>()() = array.resource_handle(context);
  return OutputUninitialized(context, 1, TensorShape({}));
}

class TensorArrayKernel final : public ArrayKernel {
 public:
  explicit TensorArrayKernel(OpKernelConstruction* construction) : ArrayKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("dtype", &type_));
    OP_REQUIRES_OK(construction, construction->GetAttr("element_shape", &element_shape_));
    OP_REQUIRES_OK(construction, construction->GetAttr("dynamic_size", &dynamic_size_));
    OP_REQUIRES_OK(construction,
                   construction->GetAttr("identical_element_shapes", &identical_shapes_));
    OP_REQUIRES_OK(construction, construction->GetAttr("clear_after_read", &clear_after_read_));
    OP_REQUIRES_OK(construction, construction->GetAttr("tensor_array_name", &name_));
    if (name_.empty()) name_ = name();
  }

 private:
  absl::Status Run(OpKernelContext* context) override {
    TF_ASSIGN_OR_RETURN(const int32_t size, Scalar(context->input(0), "size"));
    if (size < 0) return absl::InvalidArgumentError("Size should be >= 0.");
    // One graph may run several times within a step.
    const std::string name =
        absl::StrCat(name_, "_", TensorArray::tensor_array_counter.fetch_add(1));
    TF_ASSIGN_OR_RETURN(const Tensor names, MakeNames(context, kArrays, name));
    const std::string key = absl::StrCat(kArrays, name);
    tensorflow::core::RefCountPtr<TensorArray> array(
        new TensorArray(key, type_, names, size, element_shape_, identical_shapes_, dynamic_size_,
                        /*multiple_writes_aggregate=*/false, /*is_grad=*/false, /*marked_size=*/-1,
                        clear_after_read_));
    array->Ref();  // Create takes a reference.
    TF_RETURN_IF_ERROR(
        context->step_container()->Create(context->resource_manager(), key, array.get()));
    return OutputArray(context, *array);
  }

  DataType type_;
  PartialTensorShape element_shape_;
  bool dynamic_size_ = false;
  bool identical_shapes_ = false;
  bool clear_after_read_ = true;
  std::string name_;
};

// TensorArrayGradV3, and TensorArrayGradWithShape, whose elements have more leading dimensions.
class TensorArrayGradKernel final : public ArrayKernel {
 public:
  explicit TensorArrayGradKernel(OpKernelConstruction* construction) : ArrayKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("source", &source_));
  }

 private:
  absl::Status Run(OpKernelContext* context) override {
    const std::string& key = tensorflow::HandleFromInput(context, 0).name();
    if (!absl::StartsWith(key, kArrays)) {
      return absl::InvalidArgumentError(absl::StrCat("Wrong input container. ", key));
    }
    const std::string forward_name = key.substr(sizeof(kArrays) - 1);
    TF_ASSIGN_OR_RETURN(const TensorArrayPtr forward, InputArray(context));
    // From now on writes must not make it longer than its gradients.
    forward->DisableDynamicSize();
    int32_t size = 0;
    int32_t marked_size = 0;
    TF_RETURN_IF_ERROR(forward->Size(&size));
    TF_RETURN_IF_ERROR(forward->MarkedSize(&marked_size));
    if (!forward->GradientsAllowed()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Unable to create a gradients TensorArray for ", forward_name,
                       ": gradients are impossible after several writes to one index."));
    }
    TensorShape prefix;
    const bool has_prefix = context->num_inputs() > 2;
    if (has_prefix) {
      TF_RETURN_IF_ERROR(tensorflow::tensor::MakeShape(context->input(2), &prefix));
    }

    const std::string name = absl::StrCat(forward_name, "@", source_);
    const std::string gradient_key = absl::StrCat(kGradients, name);
    TF_ASSIGN_OR_RETURN(const Tensor names, MakeNames(context, kGradients, name));
    TensorArray* gradient = nullptr;
    TF_RETURN_IF_ERROR(context->step_container()->LookupOrCreate<TensorArray>(
        context->resource_manager(), gradient_key, &gradient,
        [&](TensorArray** made) -> absl::Status {
          PartialTensorShape element_shape = forward->ElemShape();
          if (has_prefix) element_shape = PartialTensorShape(prefix).Concatenate(element_shape);
          *made = new TensorArray(gradient_key, forward->ElemType(), names, size, element_shape,
                                  forward->HasIdenticalElementShapes(), /*dynamic_size=*/false,
                                  /*multiple_writes_aggregate=*/true, /*is_grad=*/true, marked_size,
                                  /*clear_after_read=*/true);
          return (*made)->CopyShapesFrom(forward.get(), has_prefix ? &prefix : nullptr);
        }));
    const TensorArrayPtr owned(gradient);
    return OutputArray(context, *owned);
  }

  std::string source_;
};

class TensorArrayWriteKernel final : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;

 private:
  absl::Status Run(OpKernelContext* context) override {
    TF_RETURN_IF_ERROR(PassFlowOn(context));
    const Tensor& value = context->input(2);
    TF_ASSIGN_OR_RETURN(const int32_t index, Scalar(context->input(1), "index"));
    TF_ASSIGN_OR_RETURN(const TensorArrayPtr array, InputArray(context, value.dtype()));
    return WriteElements(context, *array, {index}, {value});
  }
};

class TensorArrayReadKernel final : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;

 private:
  absl::Status Run(OpKernelContext* context) override {
    TF_ASSIGN_OR_RETURN(const int32_t index, Scalar(context->input(1), "index"));
    TF_ASSIGN_OR_RETURN(const TensorArrayPtr array, InputArray(context, output_type(0)));
    TF_ASSIGN_OR_RETURN(const std::vector<Tensor> element, ReadElements(context, *array, {index}));
    context->set_output(0, element.front());
    return absl::OkStatus();
  }
};

std::vector<const Tensor*> Pointers(const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> pointers;
  for (const Tensor& tensor : tensors) pointers.push_back(&tensor);
  return pointers;
}

class TensorArrayGatherKernel final : public ArrayKernel {
 public:
  explicit TensorArrayGatherKernel(OpKernelConstruction* construction) : ArrayKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("element_shape", &element_shape_));
  }

 private:
  absl::Status Run(OpKernelContext* context) override {
    TF_ASSIGN_OR_RETURN(const TensorArrayPtr array, InputArray(context, output_type(0)));
    TF_RETURN_IF_ERROR(array->SetElemShape(element_shape_));
    TF_ASSIGN_OR_RETURN(const std::vector<int32_t> indices, Indices(context->input(1)));
    if (indices.empty()) return OutputNothing(context);

    TF_ASSIGN_OR_RETURN(const std::vector<Tensor> elements, ReadElements(context, *array, indices));
    const TensorShape& first = elements.front().shape();
    if (!element_shape_.IsCompatibleWith(first)) {
      return absl::InvalidArgumentError(
          absl::StrCat("TensorArray was passed element_shape ", element_shape_.DebugString(),
                       " which does not match the Tensor at index 0: ", first.DebugString()));
    }
    for (size_t i = 1; i < elements.size(); ++i) {
      if (elements[i].shape() == first) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "TensorArray has inconsistent shapes.  Index 0 has shape: ", first.DebugString(),
          " but index ", i, " has shape: ", elements[i].shape().DebugString()));
    }
    TensorShape shape = first;
    TF_RETURN_IF_ERROR(shape.InsertDimWithStatus(0, static_cast<int64_t>(elements.size())));
    return OutputJoined(context, 0, output_type(0), Pointers(elements),
                        std::vector<TensorShape>(elements.size(), first), shape);
  }

  absl::Status OutputNothing(OpKernelContext* context) const {
    TensorShape shape;
    if (!element_shape_.AsTensorShape(&shape)) {
      return absl::UnimplementedError(absl::StrCat("TensorArray has size zero, but element shape ",
                                                   element_shape_.DebugString(),
                                                   " is not fully defined."));
    }
    TF_RETURN_IF_ERROR(shape.InsertDimWithStatus(0, 0));
    return OutputUninitialized(context, 0, shape);
  }

  PartialTensorShape element_shape_;
};

class TensorArrayConcatKernel final : public ArrayKernel {
 public:
  explicit TensorArrayConcatKernel(OpKernelConstruction* construction) : ArrayKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("element_shape_except0", &row_shape_));
  }

 private:
  absl::Status Run(OpKernelContext* context) override {
    TF_ASSIGN_OR_RETURN(const TensorArrayPtr array, InputArray(context, output_type(0)));
    int32_t size = 0;
    TF_RETURN_IF_ERROR(array->PackOrConcatSize(&size));
    // An array of gradients whose forward array was never split has no size to concatenate.
    TF_ASSIGN_OR_RETURN(const std::vector<Tensor> elements,
                        ReadElements(context, *array, FirstIndices(std::max(size, 0))));
    Tensor* lengths = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(
        1, TensorShape({static_cast<int64_t>(elements.size())}), &lengths));
    TF_ASSIGN_OR_RETURN(TensorShape shape, RowShape(elements));
    std::vector<TensorShape> shapes;
    int64_t rows = 0;
    for (size_t i = 0; i < elements.size(); ++i) {
      shapes.push_back(elements[i].shape());
      lengths->vec<int64_t>()(static_cast<int64_t>(i)) = shapes.back().dim_size(0);
      rows += shapes.back().dim_size(0);
    }
    TF_RETURN_IF_ERROR(shape.InsertDimWithStatus(0, rows));
    return OutputJoined(context, 0, output_type(0), Pointers(elements), shapes, shape);
  }

  // The common shape of all elements without their first dimension.
  absl::StatusOr<TensorShape> RowShape(const std::vector<Tensor>& elements) const {
    TensorShape common;
    if (elements.empty()) {
      if (row_shape_.AsTensorShape(&common)) return common;
      return absl::UnimplementedError(
          absl::StrCat("TensorArray has size zero, but element_shape_except0 ",
                       row_shape_.DebugString(), " is not fully defined."));
    }
    for (size_t i = 0; i < elements.size(); ++i) {
      TensorShape row = elements[i].shape();
      if (row.dims() == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("Concat saw a scalar shape at index ", i,
                         " but requires at least vectors.  Did you mean to call pack?"));
      }
      row.RemoveDim(0);
      if (i == 0) {
        common = row;
        if (row_shape_.IsCompatibleWith(row)) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("TensorArray was passed element_shape_except0 ", row_shape_.DebugString(),
                         " but index 0 has (excepting dimension 0) shape: ", row.DebugString(),
                         " which does not match."));
      }
      if (row == common) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: ",
          common.DebugString(), " but index ", i,
          " has (excepting dimension 0) shape: ", row.DebugString()));
    }
    return common;
  }

  PartialTensorShape row_shape_;
};

class TensorArrayScatterKernel final : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;

 private:
  absl::Status Run(OpKernelContext* context) override {
    TF_RETURN_IF_ERROR(PassFlowOn(context));
    const Tensor& value = context->input(2);
    TF_ASSIGN_OR_RETURN(const TensorArrayPtr array, InputArray(context, value.dtype()));
    if (value.dims() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input value for unpack must be at least a vector but received shape: ",
                       value.shape().DebugString()));
    }
    TF_ASSIGN_OR_RETURN(const std::vector<int32_t> indices, Indices(context->input(1)));
    if (static_cast<int64_t>(indices.size()) != value.dim_size(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected len(indices) == values.shape[0], but saw: ", indices.size(),
                       " vs. ", value.dim_size(0)));
    }
    int32_t size = 0;
    TF_RETURN_IF_ERROR(array->Size(&size));
    if (indices.empty()) return absl::OkStatus();
    const int32_t last = *std::max_element(indices.begin(), indices.end());
    if (!array->HasDynamicSize() && last >= size) {
      return absl::InvalidArgumentError(
          absl::StrCat("Max scatter index must be < array size (", last, " vs. ", size, ")"));
    }
    TF_ASSIGN_OR_RETURN(std::vector<Tensor> rows, CutIntoRows(context, value));
    return WriteElements(context, *array, indices, std::move(rows));
  }
};

class TensorArraySplitKernel final : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;

 private:
  absl::Status Run(OpKernelContext* context) override {
    TF_RETURN_IF_ERROR(PassFlowOn(context));
    const Tensor& value = context->input(1);
    TF_ASSIGN_OR_RETURN(const TensorArrayPtr array, InputArray(context, value.dtype()));
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, Lengths(context->input(2), value));
    int32_t size = 0;
    TF_RETURN_IF_ERROR(array->Size(&size));
    const int32_t count = static_cast<int32_t>(lengths.size());
    if (array->HasDynamicSize()) size = std::max(size, count);
    if (size != count) {
      return absl::InvalidArgumentError(
          absl::StrCat("TensorArray's size is not equal to the size of lengths (", size, " vs. ",
                       count, "), and the TensorArray is not marked as dynamically resizeable"));
    }
    TF_ASSIGN_OR_RETURN(std::vector<Tensor> pieces, CutRows(context, value, lengths));
    TF_RETURN_IF_ERROR(array->SetMarkedSize(size));
    return WriteElements(context, *array, FirstIndices(size), std::move(pieces));
  }

  static absl::StatusOr<std::vector<int64_t>> Lengths(const Tensor& tensor, const Tensor& value) {
    if (tensor.dims() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Expected lengths to be a vector, received shape: ", tensor.shape().DebugString()));
    }
    if (tensor.NumElements() >= std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError("Expected lengths to have < max int32 entries");
    }
    if (value.dims() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected value to be at least a vector, but received shape: ",
                       value.shape().DebugString()));
    }
    const auto values = tensor.vec<int64_t>();
    int64_t left = value.dim_size(0);
    for (int64_t i = 0; i < values.size(); ++i) {
      if (values(i) < 0 || values(i) > left) {
        return absl::InvalidArgumentError(absl::StrCat("Invalid length ", values(i), " at index ",
                                                       i, " of a value of shape ",
                                                       value.shape().DebugString()));
      }
      left -= values(i);
    }
    if (left != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Expected sum of lengths to be equal to values.shape[0], but sum of "
          "lengths is ",
          value.dim_size(0) - left, " and value's shape is: ", value.shape().DebugString()));
    }
    return std::vector<int64_t>(values.data(), values.data() + values.size());
  }
};

class TensorArraySizeKernel final : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;

 private:
  absl::Status Run(OpKernelContext* context) override {
    TF_ASSIGN_OR_RETURN(const TensorArrayPtr array, InputArray(context));
    Tensor* size = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(0, TensorShape({}), &size));
    return array->Size(&size->scalar<int32_t>()());
  }
};

class TensorArrayCloseKernel final : public ArrayKernel {
 public:
  using ArrayKernel::ArrayKernel;

 private:
  absl::Status Run(OpKernelContext* context) override {
    TF_ASSIGN_OR_RETURN(const TensorArrayPtr array, InputArray(context));
    array->ClearAndMarkClosed();
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterTensorArrayKernels() {
  Register<TensorArrayKernel>(XpuKernel("TensorArrayV3")
                                  .TypeConstraint("dtype", kDeviceTypes)
                                  .HostMemory("size")
                                  .HostMemory("handle"));
  Register<TensorArrayGradKernel>(
      XpuKernel("TensorArrayGradV3").HostMemory("handle").HostMemory("grad_handle"));
  Register<TensorArrayGradKernel>(XpuKernel("TensorArrayGradWithShape")
                                      .HostMemory("handle")
                                      .HostMemory("shape_to_prepend")
                                      .HostMemory("grad_handle"));
  Register<TensorArrayWriteKernel>(XpuKernel("TensorArrayWriteV3")
                                       .TypeConstraint("T", kDeviceTypes)
                                       .HostMemory("handle")
                                       .HostMemory("index"));
  Register<TensorArrayReadKernel>(XpuKernel("TensorArrayReadV3")
                                      .TypeConstraint("dtype", kDeviceTypes)
                                      .HostMemory("handle")
                                      .HostMemory("index"));
  Register<TensorArrayGatherKernel>(XpuKernel("TensorArrayGatherV3")
                                        .TypeConstraint("dtype", kDeviceTypes)
                                        .HostMemory("handle")
                                        .HostMemory("indices"));
  Register<TensorArrayConcatKernel>(XpuKernel("TensorArrayConcatV3")
                                        .TypeConstraint("dtype", kDeviceTypes)
                                        .HostMemory("handle")
                                        .HostMemory("lengths"));
  Register<TensorArrayScatterKernel>(XpuKernel("TensorArrayScatterV3")
                                         .TypeConstraint("T", kDeviceTypes)
                                         .HostMemory("handle")
                                         .HostMemory("indices"));
  Register<TensorArraySplitKernel>(XpuKernel("TensorArraySplitV3")
                                       .TypeConstraint("T", kDeviceTypes)
                                       .HostMemory("handle")
                                       .HostMemory("lengths"));
  Register<TensorArraySizeKernel>(
      XpuKernel("TensorArraySizeV3").HostMemory("handle").HostMemory("size"));
  Register<TensorArrayCloseKernel>(XpuKernel("TensorArrayCloseV3").HostMemory("handle"));
}

}  // namespace onexpu::tf_plugin
