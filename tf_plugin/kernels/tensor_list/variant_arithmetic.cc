// AddN and ZerosLike of lists of tensors, of optionals and of ragged tensors, which gradients of
// loops and branches need: element by element, on the device. Ragged tensors in variants are in
// host memory and stay there.
//
// Without them TensorFlow puts both ops on the host, and all elements of the lists go there and
// back in every step.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/compiler/tf2xla/type_util.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/variant.h"
#include "tensorflow/core/kernels/data/optional_ops_util.h"
#include "tensorflow/core/kernels/tensor_list.h"
#include "tensorflow/core/kernels/variant_ops_util.h"
#include "tf_plugin/kernels/support/device_program.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "tf_plugin/kernels/support/zero_buffer.h"
#include "tf_plugin/kernels/tensor_list/ragged_arithmetic.h"
#include "tf_plugin/kernels/tensor_list/tensor_pieces.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelContext;
using ::tensorflow::RaggedTensorVariant;
using ::tensorflow::Tensor;
using ::tensorflow::TensorList;
using ::tensorflow::TensorShape;
using ::tensorflow::Variant;
using ::tensorflow::data::OptionalVariant;

// A program takes at most so many pairs; longer lists take several runs.
constexpr size_t kMaxPairs = 16;

struct Pair {
  PJRT_Buffer* first;
  PJRT_Buffer* second;
  TensorShape shape;
};

// Parameters: the first ones, then the second ones, flat. Results: their sums.
absl::StatusOr<xla::XlaComputation> BuildSums(DataType type, absl::Span<const int64_t> sizes) {
  xla::PrimitiveType element_type;
  TF_RETURN_IF_ERROR(tensorflow::DataTypeToPrimitiveType(type, &element_type));
  xla::XlaBuilder builder("add_lists");
  std::vector<xla::XlaOp> operands, sums;
  for (size_t i = 0; i < 2 * sizes.size(); ++i) {
    operands.push_back(xla::Parameter(
        &builder, static_cast<int64_t>(i),
        xla::ShapeUtil::MakeShape(element_type, {sizes[i % sizes.size()]}), absl::StrCat("x_", i)));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    sums.push_back(operands[i] + operands[i + sizes.size()]);
  }
  xla::Tuple(&builder, sums);
  return builder.Build();
}

absl::StatusOr<std::vector<Tensor>> Add(OpKernelContext* context, DataType type,
                                        absl::Span<const Pair> pairs) {
  std::vector<OwnedBuffer> views;
  std::vector<PJRT_Buffer*> operands;
  std::vector<int64_t> sizes;
  for (PJRT_Buffer* Pair::* const side : {&Pair::first, &Pair::second}) {
    for (const Pair& pair : pairs) {
      const TensorShape flat({pair.shape.num_elements()});
      TF_ASSIGN_OR_RETURN(views.emplace_back(), ViewOf(pair.*side, flat));
      operands.push_back(views.back().get());
    }
  }
  for (const Pair& pair : pairs) sizes.push_back(pair.shape.num_elements());
  const std::string key =
      absl::StrCat("add_lists ", tensorflow::DataTypeString(type), " ", absl::StrJoin(sizes, ","));
  TF_ASSIGN_OR_RETURN(
      const std::vector<OwnedBuffer> sums,
      RunDeviceProgram(*context, key, [&] { return BuildSums(type, sizes); }, operands));
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < pairs.size(); ++i) {
    TF_ASSIGN_OR_RETURN(OwnedBuffer sum, ViewOf(sums[i].get(), pairs[i].shape));
    TF_ASSIGN_OR_RETURN(tensors.emplace_back(),
                        MakeTensor(context, type, pairs[i].shape, std::move(sum)));
  }
  return tensors;
}

absl::Status CheckPair(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype() && a.shape() == b.shape()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Cannot add ", tensorflow::DataTypeString(a.dtype()), a.shape().DebugString(),
                   " and ", tensorflow::DataTypeString(b.dtype()), b.shape().DebugString()));
}

bool HoldsVariant(const Tensor& tensor) {
  return tensor.dtype() == tensorflow::DT_VARIANT && tensor.dims() == 0;
}

Tensor TensorOf(Variant variant) {
  Tensor tensor(tensorflow::DT_VARIANT, TensorShape({}));
  tensor.scalar<Variant>()() = std::move(variant);
  return tensor;
}

// A CSR matrix has its own sum, onexpu.csr_add, and no zeros: its pattern says what is not zero.
absl::Status Unsupported(const Variant& variant) {
  return absl::UnimplementedError(absl::StrCat(
      "onexpu: AddN and ZerosLike accept lists of tensors, optionals and ragged tensors, not ",
      variant.TypeName(), ". Put them under tf.device('/CPU:0')."));
}

absl::StatusOr<Variant> AddVariants(OpKernelContext* context, const Variant& a, const Variant& b);

// The sums of what stands at the same places of `a` and `b`, which are of one length. What is not
// set counts as zero.
absl::StatusOr<std::vector<Tensor>> AddTensors(OpKernelContext* context, absl::Span<const Tensor> a,
                                               absl::Span<const Tensor> b) {
  std::vector<Tensor> all(a.begin(), a.end());
  std::vector<Pair> pairs;
  std::vector<size_t> places;  // of the pairs' sums
  for (size_t i = 0; i < a.size(); ++i) {
    if (!IsSet(b[i])) continue;
    if (!IsSet(a[i])) {
      all[i] = b[i];
      continue;
    }
    TF_RETURN_IF_ERROR(CheckPair(a[i], b[i]));
    if (HoldsVariant(a[i])) {
      TF_ASSIGN_OR_RETURN(Variant sum,
                          AddVariants(context, a[i].scalar<Variant>()(), b[i].scalar<Variant>()()));
      all[i] = TensorOf(std::move(sum));
      continue;
    }
    if (a[i].NumElements() == 0) continue;
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * first, BufferOf(a[i]));
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * second, BufferOf(b[i]));
    pairs.push_back({first, second, a[i].shape()});
    places.push_back(i);
  }
  for (size_t begin = 0, end; begin < pairs.size(); begin = end) {
    const DataType type = all[places[begin]].dtype();
    for (end = begin + 1; end < pairs.size() && end - begin < kMaxPairs; ++end) {
      if (all[places[end]].dtype() != type) break;
    }
    const auto group = absl::MakeConstSpan(pairs).subspan(begin, end - begin);
    TF_ASSIGN_OR_RETURN(std::vector<Tensor> sums, Add(context, type, group));
    for (size_t i = 0; i < sums.size(); ++i) all[places[begin + i]] = std::move(sums[i]);
  }
  return all;
}

absl::StatusOr<Variant> AddLists(OpKernelContext* context, const TensorList& a,
                                 const TensorList& b) {
  const auto differ = [](const auto&... words) {
    return absl::InvalidArgumentError(
        absl::StrCat("TensorList arguments to AddN must all have the same shape and type. Trying "
                     "to add two lists of tensors ",
                     words...));
  };
  if (a.element_dtype != b.element_dtype) {
    return differ("of different dtypes. One is ", tensorflow::DataTypeString(a.element_dtype),
                  " and the other is ", tensorflow::DataTypeString(b.element_dtype));
  }
  if (!a.element_shape.IsCompatibleWith(b.element_shape)) {
    return differ("with incompatible element shapes. One is ", a.element_shape.DebugString(),
                  " and the other is ", b.element_shape.DebugString());
  }
  if (a.tensors().size() != b.tensors().size()) {
    return differ("with different lengths. One is ", a.tensors().size(), " and the other is ",
                  b.tensors().size());
  }
  TensorList sum = a.Copy();
  TF_RETURN_IF_ERROR(a.element_shape.MergeWith(b.element_shape, &sum.element_shape));
  TF_ASSIGN_OR_RETURN(sum.tensors(), AddTensors(context, a.tensors(), b.tensors()));
  return Variant(std::move(sum));
}

absl::StatusOr<Variant> AddOptionals(OpKernelContext* context, const OptionalVariant& a,
                                     const OptionalVariant& b) {
  if (a.has_value() != b.has_value()) {
    return absl::InvalidArgumentError(
        "Cannot add optionals because one has a value and the other doesn't.");
  }
  if (!a.has_value()) return Variant(OptionalVariant());
  if (a.get_values().size() != b.get_values().size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Cannot add optionals because they have different numbers of components (",
                     a.get_values().size(), " vs. ", b.get_values().size(), ")."));
  }
  TF_ASSIGN_OR_RETURN(std::vector<Tensor> sums,
                      AddTensors(context, a.get_values(), b.get_values()));
  return Variant(OptionalVariant(std::move(sums)));
}

absl::StatusOr<Variant> AddVariants(OpKernelContext* context, const Variant& a, const Variant& b) {
  if (a.TypeId() != b.TypeId()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Cannot add ", a.TypeName(), " and ", b.TypeName()));
  }
  if (const auto* const list = a.get<TensorList>(); list != nullptr) {
    return AddLists(context, *list, *b.get<TensorList>());
  }
  if (const auto* const optional = a.get<OptionalVariant>(); optional != nullptr) {
    return AddOptionals(context, *optional, *b.get<OptionalVariant>());
  }
  if (const auto* const ragged = a.get<RaggedTensorVariant>(); ragged != nullptr) {
    TF_ASSIGN_OR_RETURN(RaggedTensorVariant sum, AddRagged(*ragged, *b.get<RaggedTensorVariant>()));
    return Variant(std::move(sum));
  }
  return Unsupported(a);
}

class AddVariantsKernel final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    tensorflow::AddNVariant(context,
                            [](OpKernelContext* context, const Variant& a, const Variant& b,
                               Variant* out) -> absl::Status {
                              TF_ASSIGN_OR_RETURN(*out, AddVariants(context, a, b));
                              return absl::OkStatus();
                            });
  }
};

absl::Status OutputVariant(OpKernelContext* context, Variant variant) {
  Tensor* output = nullptr;
  tensorflow::AllocatorAttributes host;
  host.set_on_host(true);
  TF_RETURN_IF_ERROR(context->allocate_output(0, {}, &output, host));
  output->scalar<Variant>()() = std::move(variant);
  return absl::OkStatus();
}

class AddItemKernel final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Run(context)); }

 private:
  static absl::Status Run(OpKernelContext* context) {
    const Tensor& input = context->input(0);
    const auto* const list =
        HoldsVariant(input) ? input.scalar<Variant>()().get<TensorList>() : nullptr;
    if (list == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input handle is not a list: ", input.DebugString()));
    }
    const int index = context->input(1).scalar<int>()();
    const int size = static_cast<int>(list->tensors().size());
    if (index < 0 || index >= size) {
      return absl::InvalidArgumentError(
          absl::StrCat("Trying to modify element ", index, " in a list with ", size, " elements."));
    }
    TensorList result = list->Copy();
    Tensor& element = result.tensors()[index];
    TF_ASSIGN_OR_RETURN(const std::vector<Tensor> sums,
                        AddTensors(context, {element}, {context->input(2)}));
    element = sums[0];
    return OutputVariant(context, std::move(result));
  }
};

absl::StatusOr<Variant> ZerosOf(OpKernelContext* context, const Variant& variant);

absl::StatusOr<Tensor> ZerosOf(OpKernelContext* context, const Tensor& tensor) {
  if (!IsSet(tensor)) return tensor;
  if (HoldsVariant(tensor)) {
    TF_ASSIGN_OR_RETURN(Variant zeros, ZerosOf(context, tensor.scalar<Variant>()()));
    return TensorOf(std::move(zeros));
  }
  TF_ASSIGN_OR_RETURN(OwnedBuffer zeros, ZeroBuffer(*context, tensor.dtype(), tensor.shape()));
  return MakeTensor(context, tensor.dtype(), tensor.shape(), std::move(zeros));
}

// Lists and optionals may hold others.
absl::StatusOr<Variant> ZerosOf(OpKernelContext* context, const Variant& variant) {
  if (const auto* const list = variant.get<TensorList>(); list != nullptr) {
    TensorList zeros = list->Copy();
    for (Tensor& element : zeros.tensors()) {
      TF_ASSIGN_OR_RETURN(element, ZerosOf(context, element));
    }
    return Variant(std::move(zeros));
  }
  if (const auto* const optional = variant.get<OptionalVariant>(); optional != nullptr) {
    if (!optional->has_value()) return Variant(OptionalVariant());
    std::vector<Tensor> zeros = optional->get_values();
    for (Tensor& value : zeros) {
      TF_ASSIGN_OR_RETURN(value, ZerosOf(context, value));
    }
    return Variant(OptionalVariant(std::move(zeros)));
  }
  if (const auto* const ragged = variant.get<RaggedTensorVariant>(); ragged != nullptr) {
    TF_ASSIGN_OR_RETURN(RaggedTensorVariant zeros, ZerosOfRagged(*ragged));
    return Variant(std::move(zeros));
  }
  return Unsupported(variant);
}

class VariantZerosKernel final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Run(context)); }

 private:
  static absl::Status Run(OpKernelContext* context) {
    const Tensor& input = context->input(0);
    if (input.dims() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("ZerosLike of variants takes one, not ", input.shape().DebugString()));
    }
    TF_ASSIGN_OR_RETURN(Variant zeros, ZerosOf(context, input.scalar<Variant>()()));
    return OutputVariant(context, std::move(zeros));
  }
};

}  // namespace

void RegisterVariantArithmetic() {
  Register<AddVariantsKernel>(XpuKernel("AddN").TypeConstraint<Variant>("T"));
  Register<VariantZerosKernel>(XpuKernel("ZerosLike").TypeConstraint<Variant>("T"));
  Register<AddItemKernel>(XpuKernel("_OnexpuTensorListAddItem").HostMemory("index"));
}

}  // namespace onexpu::tf_plugin
