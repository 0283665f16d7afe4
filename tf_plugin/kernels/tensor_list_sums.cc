// AddN and ZerosLike of lists of tensors, which gradients of loops take: element by element, on the
// device.
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
#include "tensorflow/core/kernels/tensor_list.h"
#include "tensorflow/core/kernels/variant_ops_util.h"
#include "tf_plugin/kernels/device_program.h"
#include "tf_plugin/kernels/registration.h"
#include "tf_plugin/kernels/tensor_buffers.h"
#include "tf_plugin/kernels/tensor_pieces.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorList;
using ::tensorflow::TensorShape;
using ::tensorflow::Variant;

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

// What `a` and `b`, elements of two lists, have to be for a sum.
absl::Status CheckPair(const Tensor& a, const Tensor& b, DataType type) {
  if (a.dtype() != type || b.dtype() != type || a.shape() != b.shape()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Cannot add elements of two lists of ", tensorflow::DataTypeString(type), ": ",
                     a.DeviceSafeDebugString(), " and ", b.DeviceSafeDebugString()));
  }
  if (type != tensorflow::DT_VARIANT) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("onexpu: AddN of lists whose elements are lists themselves, of shape ",
                   a.shape().DebugString(), "; put it under tf.device('/CPU:0')"));
}

absl::Status AddLists(OpKernelContext* context, const TensorList& a, const TensorList& b,
                      TensorList* sum) {
  if (a.element_dtype != b.element_dtype || a.tensors().size() != b.tensors().size()) {
    return absl::InvalidArgumentError(absl::StrCat("Cannot add a list of ", a.tensors().size(), " ",
                                                   tensorflow::DataTypeString(a.element_dtype),
                                                   " and one of ", b.tensors().size(), " ",
                                                   tensorflow::DataTypeString(b.element_dtype)));
  }
  *sum = a.Copy();
  TF_RETURN_IF_ERROR(a.element_shape.MergeWith(b.element_shape, &sum->element_shape));
  std::vector<Pair> pairs;
  std::vector<size_t> places;  // of the pairs' sums in the list
  for (size_t i = 0; i < a.tensors().size(); ++i) {
    const Tensor& first = a.tensors()[i];
    const Tensor& second = b.tensors()[i];
    if (!IsSet(second)) continue;
    if (!IsSet(first) || first.NumElements() == 0) {
      sum->tensors()[i] = second;
      continue;
    }
    TF_RETURN_IF_ERROR(CheckPair(first, second, a.element_dtype));
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * first_buffer, BufferOf(first));
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * second_buffer, BufferOf(second));
    pairs.push_back({first_buffer, second_buffer, first.shape()});
    places.push_back(i);
  }
  for (size_t begin = 0; begin < pairs.size(); begin += kMaxPairs) {
    const auto group = absl::MakeConstSpan(pairs).subspan(begin, kMaxPairs);
    TF_ASSIGN_OR_RETURN(std::vector<Tensor> sums, Add(context, a.element_dtype, group));
    for (size_t i = 0; i < sums.size(); ++i) {
      sum->tensors()[places[begin + i]] = std::move(sums[i]);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<const TensorList*> ListIn(const Variant& variant) {
  const TensorList* const list = variant.get<TensorList>();
  if (list != nullptr) return list;
  return absl::UnimplementedError(
      absl::StrCat("onexpu: AddN and ZerosLike are for variants that are lists of tensors, not ",
                   variant.TypeName(), "; put them under tf.device('/CPU:0')"));
}

class AddListsKernel final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    tensorflow::AddNVariant(context,
                            [](OpKernelContext* context, const Variant& a, const Variant& b,
                               Variant* out) -> absl::Status {
                              TF_ASSIGN_OR_RETURN(const TensorList* const first, ListIn(a));
                              TF_ASSIGN_OR_RETURN(const TensorList* const second, ListIn(b));
                              TensorList sum;
                              TF_RETURN_IF_ERROR(AddLists(context, *first, *second, &sum));
                              *out = std::move(sum);
                              return absl::OkStatus();
                            });
  }
};

class ZeroListKernel final : public OpKernel {
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
    Tensor* output = nullptr;
    tensorflow::AllocatorAttributes host;
    host.set_on_host(true);
    TF_RETURN_IF_ERROR(context->allocate_output(0, {}, &output, host));
    TF_ASSIGN_OR_RETURN(output->scalar<Variant>()(), ZerosLike(context, input.scalar<Variant>()()));
    return absl::OkStatus();
  }

  // Lists may hold lists.
  static absl::StatusOr<Variant> ZerosLike(OpKernelContext* context, const Variant& variant) {
    TF_ASSIGN_OR_RETURN(const TensorList* const list, ListIn(variant));
    TensorList zeros = list->Copy();
    for (Tensor& element : zeros.tensors()) {
      if (!IsSet(element)) continue;
      TF_ASSIGN_OR_RETURN(element, ZerosLike(context, element));
    }
    return Variant(std::move(zeros));
  }

  static absl::StatusOr<Tensor> ZerosLike(OpKernelContext* context, const Tensor& tensor) {
    if (tensor.dtype() == tensorflow::DT_VARIANT && tensor.dims() == 0) {
      TF_ASSIGN_OR_RETURN(Variant zeros, ZerosLike(context, tensor.scalar<Variant>()()));
      Tensor result(tensorflow::DT_VARIANT, TensorShape({}));
      result.scalar<Variant>()() = std::move(zeros);
      return result;
    }
    TF_ASSIGN_OR_RETURN(OwnedBuffer zeros, ZeroBuffer(*context, tensor.dtype(), tensor.shape()));
    return MakeTensor(context, tensor.dtype(), tensor.shape(), std::move(zeros));
  }
};

}  // namespace

void RegisterTensorListSums() {
  Register<AddListsKernel>(XpuKernel("AddN").TypeConstraint<Variant>("T"));
  Register<ZeroListKernel>(XpuKernel("ZerosLike").TypeConstraint<Variant>("T"));
}

}  // namespace onexpu::tf_plugin
