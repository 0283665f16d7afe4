// Sparse tensors of coordinates on XPU: SparseReorder, SparseReshape and SparseTensorDenseMatMul.
// Their shapes are on the host, as for TensorFlow's other accelerators.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tf_plugin/kernels/sparse/sparse_arguments.h"
#include "tf_plugin/kernels/support/counted_kernel.h"
#include "tf_plugin/kernels/support/device_types.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "tf_plugin/kernels/support/zero_buffer.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

class SparseReorderKernel final : public CountedKernel {
 public:
  using CountedKernel::CountedKernel;

 private:
  absl::Status Run(OpKernelContext* context) const override {
    const Tensor& indices = context->input(0);
    const Tensor& values = context->input(1);
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> shape,
                        HostVector(context->input(2), "Input shape"));
    TF_RETURN_IF_ERROR(CheckSparseTensor(indices, values, shape));
    if (values.NumElements() == 0) {
      context->set_output(0, indices);
      context->set_output(1, values);
      return absl::OkStatus();
    }
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * old_indices, BufferOf(indices));
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * old_values, BufferOf(values));
    FfiAttributes attributes;
    attributes.Add("shape", absl::MakeConstSpan(shape));
    const ResultType types[] = {{indices.dtype(), indices.shape()},
                                {values.dtype(), values.shape()}};
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> sorted,
                        Launch(*context, "onexpu.sparse_reorder", {old_indices, old_values}, types,
                               attributes.Build()));
    TF_RETURN_IF_ERROR(SetOutput(context, 0, indices.shape(), std::move(sorted[0])));
    return SetOutput(context, 1, values.shape(), std::move(sorted[1]));
  }
};

class SparseReshapeKernel final : public CountedKernel {
 public:
  using CountedKernel::CountedKernel;

 private:
  // `wanted` with its -1 replaced by what `given` leaves for it.
  static absl::StatusOr<std::vector<int64_t>> Infer(absl::Span<const int64_t> given,
                                                    std::vector<int64_t> wanted) {
    const auto product_of = [](absl::Span<const int64_t> sizes) -> absl::StatusOr<int64_t> {
      int64_t product = 1;
      for (const int64_t size : sizes) {
        if (size == -1) continue;
        if (size < 0 || __builtin_mul_overflow(product, size, &product)) {
          return absl::InvalidArgumentError(absl::StrCat(
              "size ", size, " of [", absl::StrJoin(sizes, ","), "] must be non-negative, and the ",
              "shape have less than 2^63 elements"));
        }
      }
      return product;
    };
    for (const int64_t size : given) {
      if (size < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("Input shape [", absl::StrJoin(given, ","), "] has a negative size"));
      }
    }
    TF_ASSIGN_OR_RETURN(const int64_t elements, product_of(given));
    TF_ASSIGN_OR_RETURN(int64_t product, product_of(wanted));
    int64_t* unknown = nullptr;
    for (int64_t& size : wanted) {
      if (size != -1) continue;
      if (unknown != nullptr) {
        return absl::InvalidArgumentError(absl::StrCat("only one output dimension may be -1, got [",
                                                       absl::StrJoin(wanted, ","), "]"));
      }
      unknown = &size;
    }
    if (unknown != nullptr) {
      if (product == 0) {
        return absl::InvalidArgumentError(
            "reshape cannot infer the missing input size for an empty tensor unless all specified "
            "input sizes are non-zero");
      }
      if (elements % product != 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Input to reshape is a tensor with ", elements,
            " dense values, but the requested shape requires a multiple of ", product));
      }
      *unknown = elements / product;
      product *= *unknown;
    }
    if (product != elements) {
      return absl::InvalidArgumentError(absl::StrCat("Input to reshape is a tensor with ", elements,
                                                     " dense values, but the requested shape [",
                                                     absl::StrJoin(wanted, ","), "] has ",
                                                     product));
    }
    return wanted;
  }

  absl::Status Run(OpKernelContext* context) const override {
    const Tensor& indices = context->input(0);
    TF_RETURN_IF_ERROR(CheckRank(indices, 2, "Input indices"));
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> from,
                        HostVector(context->input(1), "Input shape"));
    TF_ASSIGN_OR_RETURN(std::vector<int64_t> to, HostVector(context->input(2), "Target shape"));
    if (indices.dim_size(1) != static_cast<int64_t>(from.size())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Input tensor rank must match input shape length: ", indices.shape().DebugString(),
          " and ", from.size()));
    }
    TF_ASSIGN_OR_RETURN(to, Infer(from, std::move(to)));
    const int64_t rank = static_cast<int64_t>(to.size());
    TF_RETURN_IF_ERROR(OutputVector(context, 1, to));
    if (from == to) {
      context->set_output(0, indices);
      return absl::OkStatus();
    }
    const TensorShape result({indices.dim_size(0), rank});
    if (result.num_elements() == 0) return OutputUninitialized(context, 0, result);
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * operand, BufferOf(indices));
    FfiAttributes attributes;
    attributes.Add("from", absl::MakeConstSpan(from)).Add("to", absl::MakeConstSpan(to));
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> reshaped,
                        Launch(*context, "onexpu.sparse_reshape", {operand},
                               {ResultType{indices.dtype(), result}}, attributes.Build()));
    return SetOutput(context, 0, result, std::move(reshaped.front()));
  }
};

class SparseMatmulKernel final : public CountedKernel {
 public:
  explicit SparseMatmulKernel(OpKernelConstruction* construction) : CountedKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("adjoint_a", &adjoint_a_));
    OP_REQUIRES_OK(construction, construction->GetAttr("adjoint_b", &adjoint_b_));
    attributes_.Add("adjoint_a", int64_t{adjoint_a_}).Add("adjoint_b", int64_t{adjoint_b_}).Build();
  }

 private:
  absl::StatusOr<TensorShape> ResultShape(OpKernelContext* context) const {
    const Tensor& indices = context->input(0);
    const Tensor& values = context->input(1);
    const Tensor& b = context->input(3);
    TF_RETURN_IF_ERROR(CheckRank(indices, 2, "Tensor 'a_indices'"));
    TF_RETURN_IF_ERROR(CheckRank(values, 1, "Tensor 'a_values'"));
    TF_RETURN_IF_ERROR(CheckRank(b, 2, "Tensor 'b'"));
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> a,
                        HostVector(context->input(2), "Tensor 'a_shape'"));
    if (a.size() != 2 || a[0] < 0 || a[1] < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Tensor 'a_shape' must have 2 non-negative elements: [", absl::StrJoin(a, ","), "]"));
    }
    if (indices.dim_size(0) != values.dim_size(0) || indices.dim_size(1) != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("a_indices must have a row of 2 for each entry of a_values: ",
                       indices.shape().DebugString(), " and ", values.shape().DebugString()));
    }
    const int64_t inner_a = a[adjoint_a_ ? 0 : 1], inner_b = b.dim_size(adjoint_b_ ? 1 : 0);
    if (inner_a != inner_b) {
      return absl::InvalidArgumentError(
          absl::StrCat("Cannot multiply A and B because inner dimension does not match: ", inner_a,
                       " vs. ", inner_b, ".  Did you forget a transpose?  Dimensions of A: [",
                       absl::StrJoin(a, ", "), "].  Dimensions of B: ", b.shape().DebugString()));
    }
    TensorShape shape;
    TF_RETURN_IF_ERROR(shape.AddDimWithStatus(a[adjoint_a_ ? 1 : 0]));
    TF_RETURN_IF_ERROR(shape.AddDimWithStatus(b.dim_size(adjoint_b_ ? 0 : 1)));
    return shape;
  }

  absl::Status Run(OpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const TensorShape shape, ResultShape(context));
    if (shape.num_elements() == 0) return OutputUninitialized(context, 0, shape);
    if (context->input(1).NumElements() == 0 || context->input(3).NumElements() == 0) {
      TF_ASSIGN_OR_RETURN(OwnedBuffer zeros,
                          ZeroBuffer(*context, context->input(1).dtype(), shape));
      return SetOutput(context, 0, shape, std::move(zeros));
    }
    std::vector<PJRT_Buffer*> operands;
    for (const int input : {0, 1, 3}) {
      TF_ASSIGN_OR_RETURN(operands.emplace_back(), BufferOf(context->input(input)));
    }
    TF_ASSIGN_OR_RETURN(
        std::vector<OwnedBuffer> product,
        Launch(*context, "onexpu.sparse_matmul", operands,
               {ResultType{context->input(1).dtype(), shape}}, attributes_.attrs()));
    return SetOutput(context, 0, shape, std::move(product.front()));
  }

  bool adjoint_a_ = false, adjoint_b_ = false;
  FfiAttributes attributes_;
};

}  // namespace

void RegisterSparseTensorKernels() {
  constexpr DataType kSummed[] = {tensorflow::DT_HALF,      tensorflow::DT_BFLOAT16,
                                  tensorflow::DT_FLOAT,     tensorflow::DT_DOUBLE,
                                  tensorflow::DT_COMPLEX64, tensorflow::DT_COMPLEX128};
  Register<SparseReorderKernel>(
      XpuKernel("SparseReorder").TypeConstraint("T", kDeviceTypes).HostMemory("input_shape"));
  Register<SparseReshapeKernel>(XpuKernel("SparseReshape")
                                    .HostMemory("input_shape")
                                    .HostMemory("new_shape")
                                    .HostMemory("output_shape"));
  Register<SparseMatmulKernel>(
      XpuKernel("SparseTensorDenseMatMul").TypeConstraint("T", kSummed).HostMemory("a_shape"));
}

}  // namespace onexpu::tf_plugin
