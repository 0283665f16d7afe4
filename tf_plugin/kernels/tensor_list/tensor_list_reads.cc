// Kernels that make tensors out of a list: TensorListStack, -Gather, -Concat, -GetItem, -PopBack.
//
// TensorFlow's kernels for any device read the elements as memory, which tensors on XPU have not.
// Here they are joined by programs on the device. A list's bookkeeping is the same as in
// TensorFlow.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/kernels/list_kernels.h"
#include "tf_plugin/kernels/support/device_types.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "tf_plugin/kernels/support/zero_buffer.h"
#include "tf_plugin/kernels/tensor_list/tensor_pieces.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::PartialTensorShape;
using ::tensorflow::Tensor;
using ::tensorflow::TensorList;
using ::tensorflow::TensorShape;

absl::StatusOr<const TensorList*> InputList(OpKernelContext* context, DataType element_type) {
  const TensorList* list = nullptr;
  TF_RETURN_IF_ERROR(tensorflow::GetInputList(context, 0, &list));
  if (list->element_dtype == element_type) return list;
  return absl::InvalidArgumentError(
      absl::StrCat("Invalid data types; op elements ", tensorflow::DataTypeString(element_type),
                   " but list elements ", tensorflow::DataTypeString(list->element_dtype)));
}

// What `wanted` leaves open is taken from the elements that are set. INVALID_ARGUMENT when they do
// not agree, or when none is set and something is open: then `unknown`, the shape and `end`.
absl::StatusOr<TensorShape> CommonShape(PartialTensorShape wanted,
                                        absl::Span<const Tensor* const> elements,
                                        absl::string_view unknown, absl::string_view end = "") {
  for (const Tensor* element : elements) {
    if (!IsSet(*element)) continue;
    const PartialTensorShape so_far = wanted;
    TF_RETURN_IF_ERROR(so_far.MergeWith(element->shape(), &wanted));
  }
  TensorShape shape;
  if (wanted.AsTensorShape(&shape)) return shape;
  return absl::InvalidArgumentError(absl::StrCat(unknown, wanted.DebugString(), end));
}

// What the kernels of this file have in common: the element type, and errors as Status.
class ListReader : public OpKernel {
 public:
  explicit ListReader(OpKernelConstruction* construction) : OpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("element_dtype", &element_type_));
  }

  void Compute(OpKernelContext* context) final { OP_REQUIRES_OK(context, Read(context)); }

 protected:
  DataType element_type() const { return element_type_; }
  virtual absl::Status Read(OpKernelContext* context) = 0;

 private:
  DataType element_type_;
};

absl::Status OutputStacked(OpKernelContext* context, DataType type, PartialTensorShape wanted,
                           absl::Span<const Tensor* const> elements, absl::string_view unknown) {
  TF_ASSIGN_OR_RETURN(const TensorShape element_shape,
                      CommonShape(std::move(wanted), elements, unknown));
  TensorShape shape = element_shape;
  TF_RETURN_IF_ERROR(shape.InsertDimWithStatus(0, static_cast<int64_t>(elements.size())));
  return OutputJoined(context, 0, type, elements,
                      std::vector<TensorShape>(elements.size(), element_shape), shape);
}

class TensorListStackKernel final : public ListReader {
 public:
  explicit TensorListStackKernel(OpKernelConstruction* construction) : ListReader(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("num_elements", &num_elements_));
  }

 private:
  absl::Status Read(OpKernelContext* context) override {
    TF_ASSIGN_OR_RETURN(const TensorList* list, InputList(context, element_type()));
    if (num_elements_ != -1 && static_cast<int64_t>(list->tensors().size()) != num_elements_) {
      return absl::InvalidArgumentError(
          absl::StrCat("Operation expected a list with ", num_elements_,
                       " elements but got a list with ", list->tensors().size(), " elements."));
    }
    PartialTensorShape element_shape;
    TF_RETURN_IF_ERROR(tensorflow::GetElementShapeFromInput(context, *list, 1, &element_shape));
    std::vector<const Tensor*> elements;
    for (const Tensor& element : list->tensors()) elements.push_back(&element);
    return OutputStacked(
        context, element_type(), element_shape, elements,
        elements.empty()
            ? "Tried to stack elements of an empty list with non-fully-defined element_shape: "
            : "Tried to stack list which only contains uninitialized tensors and has a "
              "non-fully-defined element_shape: ");
  }

  int num_elements_ = -1;
};

class TensorListGatherKernel final : public ListReader {
 public:
  using ListReader::ListReader;

 private:
  absl::Status Read(OpKernelContext* context) override {
    TF_ASSIGN_OR_RETURN(const TensorList* list, InputList(context, element_type()));
    PartialTensorShape element_shape;
    TF_RETURN_IF_ERROR(tensorflow::GetElementShapeFromInput(context, *list, 2, &element_shape));
    const Tensor& indices = context->input(1);
    std::vector<const Tensor*> elements;
    for (int64_t i = 0; i < indices.NumElements(); ++i) {
      const int32_t index = indices.flat<int32_t>()(i);
      if (index < 0 || index >= static_cast<int64_t>(list->tensors().size())) {
        return absl::InvalidArgumentError(absl::StrCat("Trying to gather element ", index,
                                                       " in a list with ", list->tensors().size(),
                                                       " elements."));
      }
      elements.push_back(&list->tensors()[index]);
    }
    return OutputStacked(
        context, element_type(), element_shape, elements,
        elements.empty()
            ? "Tried to gather 0-elements from a list with non-fully-defined shape: "
            : "Tried to gather uninitialized tensors from a list with non-fully-defined "
              "element_shape: ");
  }
};

// Output `index`: one element of the list, zeros if it is not set.
absl::Status OutputElement(OpKernelContext* context, int index, const TensorList& list,
                           const Tensor& element, int shape_input) {
  if (IsSet(element)) {
    context->set_output(index, element);
    return absl::OkStatus();
  }
  PartialTensorShape wanted;
  TF_RETURN_IF_ERROR(tensorflow::GetElementShapeFromInput(context, list, shape_input, &wanted));
  std::vector<const Tensor*> elements;
  for (const Tensor& other : list.tensors()) elements.push_back(&other);
  TF_ASSIGN_OR_RETURN(
      const TensorShape shape,
      CommonShape(std::move(wanted), elements,
                  "Trying to read an uninitialized tensor but element_shape is not fully defined: ",
                  " and no list element is set."));
  TF_ASSIGN_OR_RETURN(OwnedBuffer zeros, ZeroBuffer(*context, list.element_dtype, shape));
  return SetOutput(context, index, shape, std::move(zeros));
}

class TensorListGetItemKernel final : public ListReader {
 public:
  using ListReader::ListReader;

 private:
  absl::Status Read(OpKernelContext* context) override {
    TF_ASSIGN_OR_RETURN(const TensorList* list, InputList(context, element_type()));
    const Tensor& index_tensor = context->input(1);
    if (index_tensor.dims() != 0) {
      return absl::InvalidArgumentError(absl::StrCat("index must be a scalar, but has shape ",
                                                     index_tensor.shape().DebugString()));
    }
    const int32_t index = index_tensor.scalar<int32_t>()();
    if (index < 0 || index >= static_cast<int64_t>(list->tensors().size())) {
      return absl::InvalidArgumentError(absl::StrCat("Trying to access element ", index,
                                                     " in a list with ", list->tensors().size(),
                                                     " elements."));
    }
    return OutputElement(context, 0, *list, list->tensors()[index], /*shape_input=*/2);
  }
};

class TensorListPopBackKernel final : public ListReader {
 public:
  using ListReader::ListReader;

 private:
  absl::Status Read(OpKernelContext* context) override {
    TF_ASSIGN_OR_RETURN(const TensorList* list, InputList(context, element_type()));
    if (list->tensors().empty()) {
      return absl::InvalidArgumentError("Trying to pop from an empty list.");
    }
    TF_RETURN_IF_ERROR(OutputElement(context, 1, *list, list->tensors().back(), /*shape_input=*/1));
    TensorList* output = nullptr;
    TF_RETURN_IF_ERROR(tensorflow::ForwardInputOrCreateNewList(context, 0, 0, *list, &output));
    output->tensors().pop_back();
    return absl::OkStatus();
  }
};

// TensorListConcat has its shape in an attribute; V2 has it as an input, and the leading dimensions
// of elements that are not set as another.
class TensorListConcatKernel final : public ListReader {
 public:
  explicit TensorListConcatKernel(OpKernelConstruction* construction) : ListReader(construction) {
    if (!construction->HasAttr("element_shape")) return;
    OP_REQUIRES_OK(construction, construction->GetAttr("element_shape", &element_shape_));
  }

 private:
  absl::Status Read(OpKernelContext* context) override {
    TF_ASSIGN_OR_RETURN(const TensorList* list, InputList(context, element_type()));
    if (!element_shape_.unknown_rank() && element_shape_.dims() < 1) {
      return absl::InvalidArgumentError(
          "element_shape must not be empty: only elements that have rows can be joined");
    }
    PartialTensorShape wanted = element_shape_;
    if (context->num_inputs() > 1) {
      TF_RETURN_IF_ERROR(tensorflow::GetElementShapeFromInput(context, *list, 1, &wanted));
    }
    if (!wanted.unknown_rank() && wanted.dims() < 1) {
      return absl::InvalidArgumentError(
          "Concat requires elements to be at least vectors, found scalars instead.");
    }
    TF_ASSIGN_OR_RETURN(const TensorShape row_shape, RowShape(wanted, *list));
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, Lengths(*context, wanted, *list));

    Tensor* lengths_output = nullptr;
    TF_RETURN_IF_ERROR(context->allocate_output(
        1, TensorShape({static_cast<int64_t>(lengths.size())}), &lengths_output));
    std::copy(lengths.begin(), lengths.end(), lengths_output->vec<int64_t>().data());

    int64_t total = 0;
    std::vector<TensorShape> shapes;
    std::vector<const Tensor*> elements;
    for (size_t i = 0; i < lengths.size(); ++i) {
      total += lengths[i];
      shapes.push_back(row_shape);
      TF_RETURN_IF_ERROR(shapes.back().InsertDimWithStatus(0, lengths[i]));
      elements.push_back(&list->tensors()[i]);
    }
    TensorShape shape = row_shape;
    TF_RETURN_IF_ERROR(shape.InsertDimWithStatus(0, total));
    return OutputJoined(context, 0, element_type(), elements, shapes, shape);
  }

  // An element's shape without its leading dimension.
  static absl::StatusOr<TensorShape> RowShape(PartialTensorShape wanted, const TensorList& list) {
    if (!wanted.unknown_rank()) wanted.RemoveDim(0);
    for (size_t i = 0; i < list.tensors().size(); ++i) {
      const Tensor& element = list.tensors()[i];
      if (!IsSet(element)) continue;
      if (element.dims() < 1) {
        return absl::InvalidArgumentError(absl::StrCat("Concat saw a scalar shape at index ", i,
                                                       " but requires at least vectors."));
      }
      TensorShape row = element.shape();
      row.RemoveDim(0);
      const PartialTensorShape so_far = wanted;
      TF_RETURN_IF_ERROR(so_far.MergeWith(row, &wanted));
    }
    TensorShape shape;
    if (wanted.AsTensorShape(&shape)) return shape;
    return absl::InvalidArgumentError(absl::StrCat(
        list.tensors().empty()
            ? "All except the first dimension must be fully defined when concating an empty tensor "
              "list. element_shape: "
            : "Trying to concat list with only uninitialized tensors but "
              "element_shape_except_first_dim is not fully defined: ",
        wanted.DebugString()));
  }

  static absl::StatusOr<std::vector<int64_t>> Lengths(const OpKernelContext& context,
                                                      const PartialTensorShape& wanted,
                                                      const TensorList& list) {
    const int64_t fixed = wanted.unknown_rank() ? -1 : wanted.dim_size(0);
    int64_t common = fixed;  // the leading dimension that all set elements have, or -1
    bool first = true;
    for (size_t i = 0; i < list.tensors().size(); ++i) {
      if (!IsSet(list.tensors()[i])) continue;
      const int64_t length = list.tensors()[i].dim_size(0);
      if (fixed != -1 && length != fixed) {
        return absl::InvalidArgumentError(absl::StrCat(
            "First entry of element_shape input does not match the first dim of list element at "
            "index: ",
            i, " Expected: ", fixed, " Actual: ", length));
      }
      if (fixed == -1) common = first || common == length ? length : -1;
      first = false;
      if (fixed == -1 && common == -1) break;
    }
    std::vector<int64_t> lengths;
    for (size_t i = 0; i < list.tensors().size(); ++i) {
      const Tensor& element = list.tensors()[i];
      const bool given =
          context.num_inputs() > 2 && static_cast<int64_t>(i) < context.input(2).NumElements();
      if (IsSet(element)) {
        lengths.push_back(element.dim_size(0));
      } else if (given) {
        lengths.push_back(context.input(2).flat<int64_t>()(static_cast<int64_t>(i)));
      } else if (common != -1) {
        lengths.push_back(common);
      } else if (context.num_inputs() > 2) {
        return absl::InvalidArgumentError(absl::StrCat(
            "List contains uninitialized tensor at index ", i, " but leading_dims has only ",
            context.input(2).NumElements(), " elements."));
      } else {
        return absl::InvalidArgumentError(
            absl::StrCat("Concating lists with uninitialized tensors is not supported in "
                         "TensorListConcat: the tensor at index ",
                         i, " is not set. TensorListConcatV2 takes its length in leading_dims."));
      }
    }
    return lengths;
  }

  PartialTensorShape element_shape_;
};

}  // namespace

void RegisterTensorListReads() {
  constexpr char kType[] = "element_dtype";
  Register<TensorListStackKernel>(
      XpuKernel("TensorListStack").TypeConstraint(kType, kDeviceTypes).HostMemory("element_shape"));
  Register<TensorListGatherKernel>(XpuKernel("TensorListGather")
                                       .TypeConstraint(kType, kDeviceTypes)
                                       .HostMemory("indices")
                                       .HostMemory("element_shape"));
  Register<TensorListGetItemKernel>(XpuKernel("TensorListGetItem")
                                        .TypeConstraint(kType, kDeviceTypes)
                                        .HostMemory("index")
                                        .HostMemory("element_shape"));
  Register<TensorListPopBackKernel>(XpuKernel("TensorListPopBack")
                                        .TypeConstraint(kType, kDeviceTypes)
                                        .HostMemory("element_shape"));
  Register<TensorListConcatKernel>(
      XpuKernel("TensorListConcat").TypeConstraint(kType, kDeviceTypes).HostMemory("lengths"));
  Register<TensorListConcatKernel>(XpuKernel("TensorListConcatV2")
                                       .TypeConstraint(kType, kDeviceTypes)
                                       .HostMemory("leading_dims")
                                       .HostMemory("element_shape")
                                       .HostMemory("lengths"));
}

}  // namespace onexpu::tf_plugin
