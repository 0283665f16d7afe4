// SparseFillEmptyRows and RaggedFillEmptyRows on XPU, with their gradients.
//
// How many elements there are afterwards is known when the kernel has run: it fills upper bounds,
// and the outputs are views of their beginnings.
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tf_plugin/kernels/support/counted_kernel.h"
#include "tf_plugin/kernels/support/device_count.h"
#include "tf_plugin/kernels/support/device_types.h"
#include "tf_plugin/kernels/support/dynamic_shape_kernel.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// Inputs: indices (a matrix, or the rows' numbers alone), values, the shape (or the number of rows)
// on the host, the default.
class FillEmptyRowsKernel final : public DynamicShapeKernel {
 public:
  explicit FillEmptyRowsKernel(OpKernelConstruction* construction)
      : DynamicShapeKernel(construction), is_ragged_(absl::StartsWith(type_string(), "Ragged")) {
    no_attributes_.Build();
  }

 private:
  int64_t rank(OpKernelContext* context) const {
    return is_ragged_ ? 1 : context->input(0).dim_size(1);
  }

  absl::StatusOr<int64_t> CheckedRows(OpKernelContext* context) const {
    const Tensor& indices = context->input(0);
    const Tensor& values = context->input(1);
    const Tensor& shape = context->input(2);
    const auto refuse = [](absl::string_view what, const Tensor& tensor) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ", saw: ", tensor.shape().DebugString()));
    };
    if (indices.dims() != (is_ragged_ ? 1 : 2)) {
      return refuse(is_ragged_ ? "value_rowids must be a vector" : "indices must be a matrix",
                    indices);
    }
    if (values.dims() != 1) return refuse("values must be a vector", values);
    if (context->input(3).dims() != 0)
      return refuse("default_value must be a scalar", context->input(3));
    if (shape.dims() != (is_ragged_ ? 0 : 1))
      return refuse(is_ragged_ ? "nrows must be a scalar" : "dense_shape must be a vector", shape);
    if (indices.dim_size(0) != values.dim_size(0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "The length of `values` (", values.dim_size(0), ") must match the first dimension of ",
          is_ragged_ ? "`value_rowids`" : "`indices`", " (", indices.dim_size(0), ")"));
    }
    if (shape.NumElements() == 0 || rank(context) == 0) {
      return absl::InvalidArgumentError("Dense shape cannot be empty.");
    }
    const int64_t rows = shape.flat<int64_t>()(0);
    if (rows < 0 || (rows == 0 && values.NumElements() > 0)) {
      return absl::InvalidArgumentError(absl::StrCat("Received a tensor of ", rows, " rows but ",
                                                     values.NumElements(), " values"));
    }
    return rows;
  }

  absl::Status OutputNothing(OpKernelContext* context) const {
    for (int i = 0; i < num_outputs(); ++i) {
      const TensorShape shape =
          i == 0 && !is_ragged_ ? TensorShape({0, rank(context)}) : TensorShape({0});
      TF_RETURN_IF_ERROR(OutputUninitialized(context, i, shape));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<OwnedBuffer>> Start(OpKernelContext* context) override {
    TF_ASSIGN_OR_RETURN(const int64_t rows, CheckedRows(context));
    if (rows == 0) {
      TF_RETURN_IF_ERROR(OutputNothing(context));
      return std::vector<OwnedBuffer>();
    }
    const Tensor& values = context->input(1);
    const int64_t elements = values.NumElements();
    TF_ASSIGN_OR_RETURN(
        const OwnedBuffer coordinates,
        ViewOfTensor(*context, context->input(0), TensorShape({elements, rank(context)})));
    TF_ASSIGN_OR_RETURN(const OwnedBuffer value_buffer,
                        ViewOfTensor(*context, values, values.shape()));
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * default_value, BufferOf(context->input(3)));
    const ResultType types[] = {
        {tensorflow::DT_INT64, TensorShape({elements + rows, rank(context)})},
        {values.dtype(), TensorShape({elements + rows})},
        {tensorflow::DT_BOOL, TensorShape({rows})},
        {tensorflow::DT_INT64, TensorShape({elements})},
        NumbersType(2),
    };
    return Launch(*context, "onexpu.fill_empty_rows",
                  {coordinates.get(), value_buffer.get(), default_value}, types,
                  no_attributes_.attrs());
  }

  // `numbers`: as fill_empty_rows.h has them.
  absl::Status Finish(OpKernelContext* context, std::vector<OwnedBuffer>& results,
                      absl::Span<const int64_t> numbers) override {
    const int64_t count = numbers[0], outside = numbers[1];
    const int64_t rows = context->input(2).flat<int64_t>()(0);
    if (outside >= 0) {
      return absl::InvalidArgumentError(absl::StrCat(is_ragged_ ? "value_rowids" : "indices", "(",
                                                     outside, is_ragged_ ? "" : ", 0",
                                                     ") is invalid: not in [0, ", rows, ")"));
    }
    const int64_t elements = context->input(1).NumElements();
    TF_RETURN_IF_ERROR(CheckCount(*context, count, elements + rows));
    const TensorShape shape =
        is_ragged_ ? TensorShape({count}) : TensorShape({count, rank(context)});
    TF_ASSIGN_OR_RETURN(OwnedBuffer coordinates, ViewOf(results[0].get(), shape));
    TF_ASSIGN_OR_RETURN(OwnedBuffer values, ViewOf(results[1].get(), TensorShape({count})));
    TF_RETURN_IF_ERROR(SetOutput(context, 0, shape, std::move(coordinates)));
    TF_RETURN_IF_ERROR(SetOutput(context, 1, TensorShape({count}), std::move(values)));
    TF_RETURN_IF_ERROR(SetOutput(context, 2, TensorShape({rows}), std::move(results[2])));
    return SetOutput(context, 3, TensorShape({elements}), std::move(results[3]));
  }

  const bool is_ragged_;
  FfiAttributes no_attributes_;
};

class FillEmptyRowsGradKernel final : public CountedKernel {
 public:
  explicit FillEmptyRowsGradKernel(OpKernelConstruction* construction)
      : CountedKernel(construction) {
    no_attributes_.Build();
  }

 private:
  absl::Status Run(OpKernelContext* context) const override {
    const Tensor& moved_to = context->input(0);
    const Tensor& slopes = context->input(1);
    for (const Tensor* const tensor : {&moved_to, &slopes}) {
      if (tensor->dims() != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("reverse_index_map and grad_values must be vectors, saw: ",
                         tensor->shape().DebugString()));
      }
    }
    TF_ASSIGN_OR_RETURN(const OwnedBuffer map, ViewOfTensor(*context, moved_to, moved_to.shape()));
    TF_ASSIGN_OR_RETURN(const OwnedBuffer values, ViewOfTensor(*context, slopes, slopes.shape()));
    const ResultType types[] = {{slopes.dtype(), moved_to.shape()},
                                {slopes.dtype(), TensorShape({})}};
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> results,
                        Launch(*context, "onexpu.fill_empty_rows_grad", {map.get(), values.get()},
                               types, no_attributes_.attrs()));
    TF_RETURN_IF_ERROR(SetOutput(context, 0, moved_to.shape(), std::move(results[0])));
    return SetOutput(context, 1, TensorShape({}), std::move(results[1]));
  }

  FfiAttributes no_attributes_;
};

}  // namespace

void RegisterFillEmptyRowsKernels() {
  Register<FillEmptyRowsKernel>(
      XpuKernel("SparseFillEmptyRows").TypeConstraint("T", kDeviceTypes).HostMemory("dense_shape"));
  Register<FillEmptyRowsKernel>(
      XpuKernel("RaggedFillEmptyRows").TypeConstraint("T", kDeviceTypes).HostMemory("nrows"));
  for (const char* const op : {"SparseFillEmptyRowsGrad", "RaggedFillEmptyRowsGrad"})
    Register<FillEmptyRowsGradKernel>(XpuKernel(op).TypeConstraint("T", kNumberDeviceTypes));
}

}  // namespace onexpu::tf_plugin
