// SparseSlice, its gradient, SparseSplit and SparseConcat on XPU. Shapes are on the host, as for
// TensorFlow's other accelerators.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tf_plugin/kernels/sparse/sparse_arguments.h"
#include "tf_plugin/kernels/support/counted_kernel.h"
#include "tf_plugin/kernels/support/device_count.h"
#include "tf_plugin/kernels/support/device_types.h"
#include "tf_plugin/kernels/support/dynamic_shape_kernel.h"
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
using ::tensorflow::OpInputList;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// Upper bounds for the elements of pieces of a sparse tensor, and `counts` numbers.
std::vector<ResultType> ElementTypes(const Tensor& indices, const Tensor& values,
                                     ResultType counts) {
  return {{indices.dtype(), indices.shape()}, {values.dtype(), values.shape()}, std::move(counts)};
}

class SparseSliceKernel final : public DynamicShapeKernel {
 public:
  using DynamicShapeKernel::DynamicShapeKernel;

 private:
  absl::StatusOr<std::vector<OwnedBuffer>> Start(OpKernelContext* context) override {
    const Tensor& indices = context->input(0);
    const Tensor& values = context->input(1);
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> shape,
                        HostVector(context->input(2), "Input shape"));
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> start,
                        HostVector(context->input(3), "Input start"));
    TF_ASSIGN_OR_RETURN(std::vector<int64_t> size, HostVector(context->input(4), "Input size"));
    TF_RETURN_IF_ERROR(CheckSparseTensor(indices, values, shape));
    if (start.size() != shape.size() || size.size() != shape.size()) {
      return absl::InvalidArgumentError(absl::StrCat("Expected start and size of ", shape.size(),
                                                     " dimensions, got ", start.size(), " and ",
                                                     size.size()));
    }
    for (size_t d = 0; d < shape.size(); ++d) {
      if (size[d] < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("Expected a non-negative size, got ", size[d]));
      }
      int64_t left = 0;
      if (__builtin_sub_overflow(shape[d], start[d], &left)) {
        return absl::InvalidArgumentError(
            absl::StrCat("start ", start[d], " is too far from a shape of ", shape[d]));
      }
      size[d] = std::clamp<int64_t>(left, 0, size[d]);
    }
    TF_RETURN_IF_ERROR(OutputVector(context, 2, size));
    if (values.NumElements() == 0) {
      context->set_output(0, indices);
      context->set_output(1, values);
      return std::vector<OwnedBuffer>();
    }
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * coordinates, BufferOf(indices));
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * elements, BufferOf(values));
    FfiAttributes attributes;
    attributes.Add("start", absl::MakeConstSpan(start)).Add("size", absl::MakeConstSpan(size));
    return Launch(*context, "onexpu.sparse_slice", {coordinates, elements},
                  ElementTypes(indices, values, NumbersType(1)), attributes.Build());
  }

  absl::Status Finish(OpKernelContext* context, std::vector<OwnedBuffer>& results,
                      absl::Span<const int64_t> numbers) override {
    TF_RETURN_IF_ERROR(CheckCount(*context, numbers[0], context->input(1).NumElements()));
    const TensorShape shapes[] = {{numbers[0], context->input(0).dim_size(1)}, {numbers[0]}};
    for (int i = 0; i < 2; ++i) {
      TF_ASSIGN_OR_RETURN(OwnedBuffer view, ViewOf(results[i].get(), shapes[i]));
      TF_RETURN_IF_ERROR(SetOutput(context, i, shapes[i], std::move(view)));
    }
    return absl::OkStatus();
  }
};

// Operands: the gradient of the slice's values, the indices of the whole, the slice's start, its
// indices. What is not found in the whole is dropped, as TensorFlow's GPU kernel does.
class SparseSliceGradKernel final : public CountedKernel {
 public:
  explicit SparseSliceGradKernel(OpKernelConstruction* construction) : CountedKernel(construction) {
    no_attributes_.Build();
  }

 private:
  static absl::Status CheckShapes(OpKernelContext* context) {
    const TensorShape& gradient = context->input(0).shape();
    const TensorShape& indices = context->input(1).shape();
    const TensorShape& start = context->input(2).shape();
    const TensorShape& sliced = context->input(3).shape();
    if (indices.dims() != 2 || sliced.dims() != 2 || indices.dim_size(1) != sliced.dim_size(1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Input and output indices should be matrices of the same number of columns, got shapes ",
          indices.DebugString(), " and ", sliced.DebugString()));
    }
    if (sliced.dim_size(0) > indices.dim_size(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("# rows of output_indices should be not greater than of input_indices, got ",
                       sliced.dim_size(0), " and ", indices.dim_size(0)));
    }
    if (gradient != TensorShape({sliced.dim_size(0)})) {
      return absl::InvalidArgumentError(absl::StrCat(
          "backprop_val_grad should be a vector with an element for each of the ",
          sliced.dim_size(0), " rows of output_indices, got shape ", gradient.DebugString()));
    }
    if (start != TensorShape({indices.dim_size(1)})) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected input_start to be a vector of length ", indices.dim_size(1),
                       ", got shape ", start.DebugString()));
    }
    return absl::OkStatus();
  }

  absl::Status Run(OpKernelContext* context) const override {
    TF_RETURN_IF_ERROR(CheckShapes(context));
    const TensorShape shape({context->input(1).dim_size(0)});
    if (shape.num_elements() == 0) return OutputUninitialized(context, 0, shape);
    if (context->input(0).NumElements() == 0) {
      TF_ASSIGN_OR_RETURN(OwnedBuffer zeros, ZeroBuffer(*context, output_type(0), shape));
      return SetOutput(context, 0, shape, std::move(zeros));
    }
    std::vector<PJRT_Buffer*> operands;
    for (int i = 0; i < num_inputs(); ++i) {
      TF_ASSIGN_OR_RETURN(operands.emplace_back(), BufferOf(context->input(i)));
    }
    const ResultType types[] = {{output_type(0), shape}};
    TF_ASSIGN_OR_RETURN(
        std::vector<OwnedBuffer> gradient,
        Launch(*context, "onexpu.sparse_slice_grad", operands, types, no_attributes_.attrs()));
    return SetOutput(context, 0, shape, std::move(gradient[0]));
  }

  FfiAttributes no_attributes_;
};

// Outputs: the indices of all pieces, the values of all, the shapes of all.
class SparseSplitKernel final : public DynamicShapeKernel {
 public:
  explicit SparseSplitKernel(OpKernelConstruction* construction)
      : DynamicShapeKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("num_split", &pieces_));
  }

 private:
  // Valid once Start has checked it.
  static int64_t Dimension(OpKernelContext* context, int64_t rank) {
    const int64_t axis = context->input(0).scalar<int64_t>()();
    return axis < 0 ? axis + rank : axis;
  }

  absl::StatusOr<std::vector<OwnedBuffer>> Start(OpKernelContext* context) override {
    const Tensor& axis = context->input(0);
    const Tensor& indices = context->input(1);
    const Tensor& values = context->input(2);
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> shape,
                        HostVector(context->input(3), "Input shape"));
    TF_RETURN_IF_ERROR(CheckSparseTensor(indices, values, shape));
    const int64_t rank = static_cast<int64_t>(shape.size());
    if (axis.dims() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input axis should be a scalar, got shape ", axis.shape().DebugString()));
    }
    const int64_t dimension = Dimension(context, rank);
    if (dimension < 0 || dimension >= rank) {
      return absl::InvalidArgumentError(absl::StrCat("Input axis should be in range [", -rank, ", ",
                                                     rank, "), got ", axis.scalar<int64_t>()()));
    }
    const int64_t extent = shape[dimension];
    if (pieces_ < 1 || pieces_ > extent) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input num_split should be between 1 and the splitting dimension size (",
                       extent, "), got ", pieces_));
    }
    for (int i = 0; i < pieces_; ++i) {
      std::vector<int64_t> piece = shape;
      piece[dimension] = extent / pieces_ + (i < extent % pieces_ ? 1 : 0);
      TF_RETURN_IF_ERROR(OutputVector(context, 2 * pieces_ + i, piece));
    }
    if (values.NumElements() == 0) {
      for (int i = 0; i < pieces_; ++i) {
        context->set_output(i, indices);
        context->set_output(pieces_ + i, values);
      }
      return std::vector<OwnedBuffer>();
    }
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * coordinates, BufferOf(indices));
    const TensorShape elements({values.NumElements()});
    const ResultType types[] = {
        {tensorflow::DT_INT32, elements}, {tensorflow::DT_UINT32, elements}, NumbersType(pieces_)};
    FfiAttributes attributes;
    attributes.Add("dimension", dimension).Add("extent", extent);
    return Launch(*context, "onexpu.sparse_split", {coordinates}, types, attributes.Build());
  }

  // `results`: the piece of each element, and their order.
  absl::Status Finish(OpKernelContext* context, std::vector<OwnedBuffer>& results,
                      absl::Span<const int64_t> numbers) override {
    const Tensor& indices = context->input(1);
    const Tensor& values = context->input(2);
    TF_RETURN_IF_ERROR(CheckCounts(*context, numbers, values.NumElements()));
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> shape,
                        HostVector(context->input(3), "Input shape"));
    const int64_t dimension = Dimension(context, static_cast<int64_t>(shape.size()));
    std::vector<ResultType> types;
    for (const int64_t count : numbers) {
      types.push_back({indices.dtype(), TensorShape({count, indices.dim_size(1)})});
      types.push_back({values.dtype(), TensorShape({count})});
    }
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * coordinates, BufferOf(indices));
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * elements, BufferOf(values));
    FfiAttributes attributes;
    attributes.Add("dimension", dimension).Add("extent", shape[dimension]);
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> made,
                        Launch(*context, "onexpu.sparse_split_elements",
                               {coordinates, elements, results[0].get(), results[1].get()}, types,
                               attributes.Build()));
    for (int i = 0; i < 2 * pieces_; ++i) {
      const int output = i % 2 * pieces_ + i / 2;
      if (numbers[i / 2] == 0) {
        TF_RETURN_IF_ERROR(OutputUninitialized(context, output, types[i].shape));
      } else {
        TF_RETURN_IF_ERROR(SetOutput(context, output, types[i].shape, std::move(made[i])));
      }
    }
    return absl::OkStatus();
  }

  int pieces_ = 0;
};

class SparseConcatKernel final : public CountedKernel {
 public:
  explicit SparseConcatKernel(OpKernelConstruction* construction) : CountedKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("concat_dim", &dimension_));
  }

 private:
  // The tensors that have elements, and what the whole is.
  struct Whole {
    std::vector<PJRT_Buffer*> operands;
    std::vector<int64_t> offsets;
    std::vector<int64_t> shape;
    int64_t dimension = 0;
    int64_t elements = 0;
  };

  absl::StatusOr<Whole> Gather(OpKernelContext* context) const {
    OpInputList indices, values, shapes;
    TF_RETURN_IF_ERROR(context->input_list("indices", &indices));
    TF_RETURN_IF_ERROR(context->input_list("values", &values));
    TF_RETURN_IF_ERROR(context->input_list("shapes", &shapes));
    Whole whole;
    for (int i = 0; i < indices.size(); ++i) {
      TF_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, HostVector(shapes[i], "Input shapes"));
      TF_RETURN_IF_ERROR(CheckSparseTensor(indices[i], values[i], shape));
      const int64_t rank = static_cast<int64_t>(shape.size());
      if (i == 0) {
        if (dimension_ < -rank || dimension_ >= rank) {
          return absl::InvalidArgumentError(absl::StrCat("Concat dimension must be in range [",
                                                         -rank, ", ", rank, "), got ", dimension_));
        }
        whole.dimension = dimension_ < 0 ? dimension_ + rank : dimension_;
        whole.shape = shape;
        whole.shape[whole.dimension] = 0;
      }
      int64_t& extent = whole.shape[whole.dimension];
      std::vector<int64_t> other = shape;
      if (other.size() == whole.shape.size()) other[whole.dimension] = extent;
      if (other != whole.shape) {
        return absl::InvalidArgumentError(
            absl::StrCat("Input shapes must match except in dimension ", whole.dimension,
                         ": expected [", absl::StrJoin(whole.shape, ","), "], got [",
                         absl::StrJoin(shape, ","), "] at position ", i));
      }
      if (values[i].NumElements() > 0) {
        TF_ASSIGN_OR_RETURN(whole.operands.emplace_back(), BufferOf(indices[i]));
        TF_ASSIGN_OR_RETURN(whole.operands.emplace_back(), BufferOf(values[i]));
        whole.offsets.push_back(extent);
        whole.elements += values[i].NumElements();
      }
      if (__builtin_add_overflow(extent, shape[whole.dimension], &extent)) {
        return absl::InvalidArgumentError("the sizes to concatenate are 2^63 or more together");
      }
    }
    return whole;
  }

  absl::Status Run(OpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const Whole whole, Gather(context));
    TF_RETURN_IF_ERROR(OutputVector(context, 2, whole.shape));
    const TensorShape indices({whole.elements, static_cast<int64_t>(whole.shape.size())});
    const TensorShape values({whole.elements});
    if (whole.elements == 0) {
      TF_RETURN_IF_ERROR(OutputUninitialized(context, 0, indices));
      return OutputUninitialized(context, 1, values);
    }
    const ResultType types[] = {{tensorflow::DT_INT64, indices}, {output_type(1), values}};
    FfiAttributes attributes;
    attributes.Add("dimension", whole.dimension).Add("offsets", absl::MakeConstSpan(whole.offsets));
    TF_ASSIGN_OR_RETURN(
        std::vector<OwnedBuffer> joined,
        Launch(*context, "onexpu.sparse_concat", whole.operands, types, attributes.Build()));
    // Along the first dimension they are in order if each of them was.
    if (whole.dimension != 0) {
      FfiAttributes order;
      order.Add("shape", absl::MakeConstSpan(whole.shape));
      TF_ASSIGN_OR_RETURN(joined, Launch(*context, "onexpu.sparse_reorder",
                                         {joined[0].get(), joined[1].get()}, types, order.Build()));
    }
    TF_RETURN_IF_ERROR(SetOutput(context, 0, indices, std::move(joined[0])));
    return SetOutput(context, 1, values, std::move(joined[1]));
  }

  int64_t dimension_ = 0;
};

// Shapes of results are on the host, but not for int32: TensorFlow's eager runtime takes the int32
// operands of an op that has results on the host for host memory, too, and reads their handles.
template <typename Kernel>
void RegisterWithShapes(const char* op, std::initializer_list<const char*> host_inputs) {
  std::vector<DataType> others;
  for (const DataType type : kDeviceTypes) {
    if (type != tensorflow::DT_INT32) others.push_back(type);
  }
  XpuKernel of_int32(op), of_others(op);
  of_int32.TypeConstraint("T", tensorflow::DT_INT32);
  of_others.TypeConstraint("T", others).HostMemory("output_shape");
  for (const char* const input : host_inputs) {
    of_int32.HostMemory(input);
    of_others.HostMemory(input);
  }
  Register<Kernel>(of_int32);
  Register<Kernel>(of_others);
}

}  // namespace

void RegisterSparsePiecesKernels() {
  Register<SparseSliceGradKernel>(
      XpuKernel("SparseSliceGrad").TypeConstraint("T", kNumberDeviceTypes));
  RegisterWithShapes<SparseSliceKernel>("SparseSlice", {"shape", "start", "size"});
  RegisterWithShapes<SparseSplitKernel>("SparseSplit", {"split_dim", "shape"});
  RegisterWithShapes<SparseConcatKernel>("SparseConcat", {"shapes"});
}

}  // namespace onexpu::tf_plugin
