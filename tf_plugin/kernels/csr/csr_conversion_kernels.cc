// Sparse matrices in compressed rows made of other tensors, and made into them, on XPU:
// SparseTensorToCSRSparseMatrix, DenseToCSRSparseMatrix, CSRSparseMatrixToSparseTensor,
// CSRSparseMatrixToDense, CSRSparseMatrixComponents, SparseMatrixNNZ and SparseMatrixZeros.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tf_plugin/kernels/csr/csr_kernel.h"
#include "tf_plugin/kernels/csr/csr_matrix.h"
#include "tf_plugin/kernels/sparse/sparse_arguments.h"
#include "tf_plugin/kernels/support/counted_kernel.h"
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
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// A matrix of elements at coordinates, which are input `coordinates_input`. The device counts the
// elements of each batch, and checks the coordinates.
class FromCoordinatesKernel : public DynamicShapeKernel {
 public:
  FromCoordinatesKernel(OpKernelConstruction* construction, int coordinates_input)
      : DynamicShapeKernel(construction), coordinates_input_(coordinates_input) {}

 protected:
  // INVALID_ARGUMENT for inputs that do not fit each other.
  virtual absl::StatusOr<std::vector<int64_t>> MatrixShape(OpKernelContext* context) = 0;
  virtual DataType Type(OpKernelContext* context) = 0;
  // The elements' values, in the order of their coordinates.
  virtual absl::StatusOr<OwnedBuffer> Values(OpKernelContext* context,
                                             absl::Span<const int64_t> shape) = 0;

 private:
  absl::StatusOr<std::vector<OwnedBuffer>> Start(OpKernelContext* context) final {
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, MatrixShape(context));
    TF_RETURN_IF_ERROR(CheckCsrShape(shape));
    const Tensor& coordinates = context->input(coordinates_input_);
    const int64_t elements = coordinates.dim_size(0);
    if (elements == 0) {
      TF_ASSIGN_OR_RETURN(CsrMatrix zero, ZeroMatrix(context, Type(context), shape));
      TF_RETURN_IF_ERROR(OutputMatrix(context, std::move(zero)));
      return std::vector<OwnedBuffer>();
    }
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * operand, BufferOf(coordinates));
    const int64_t batches = shape.size() == 3 ? shape[0] : 1;
    const int64_t pointers = batches * (shape[shape.size() - 2] + 1);
    if (pointers == 0) return OutOfBounds(shape, elements);
    FfiAttributes attributes;
    attributes.Add("shape", absl::MakeConstSpan(shape));
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> made,
                        Launch(*context, "onexpu.csr_from_coordinates", {operand},
                               {ResultType{tensorflow::DT_INT32, TensorShape({pointers})},
                                ResultType{tensorflow::DT_INT32, TensorShape({elements})},
                                NumbersType(batches + 1)},
                               attributes.Build()));
    TF_ASSIGN_OR_RETURN(OwnedBuffer values, Values(context, shape));
    made.insert(made.begin() + 2, std::move(values));
    return made;
  }

  absl::Status Finish(OpKernelContext* context, std::vector<OwnedBuffer>& results,
                      absl::Span<const int64_t> numbers) final {
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, MatrixShape(context));
    const int64_t outside = numbers.back() & 0xffffffff, late = numbers.back() >> 32;
    if (outside > 0) return OutOfBounds(shape, outside);
    if (late > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(late,
                       " indices are not in row-major order; tf.sparse.reorder brings a "
                       "sparse tensor into it"));
    }
    TF_ASSIGN_OR_RETURN(CsrMatrix matrix,
                        MatrixOf(context, Type(context), shape, absl::MakeSpan(results),
                                 context->input(coordinates_input_).dim_size(0),
                                 numbers.first(numbers.size() - 1)));
    return OutputMatrix(context, std::move(matrix));
  }

  static absl::Status OutOfBounds(absl::Span<const int64_t> shape, int64_t count) {
    return absl::InvalidArgumentError(absl::StrCat(count, " indices are out of bounds of shape [",
                                                   absl::StrJoin(shape, ","), "]"));
  }

  const int coordinates_input_;
};

// Inputs: indices, values, and on the host the shape.
class FromSparseTensorKernel final : public FromCoordinatesKernel {
 public:
  explicit FromSparseTensorKernel(OpKernelConstruction* construction)
      : FromCoordinatesKernel(construction, 0) {}

 private:
  absl::StatusOr<std::vector<int64_t>> MatrixShape(OpKernelContext* context) override {
    const Tensor& indices = context->input(0);
    const Tensor& values = context->input(1);
    TF_RETURN_IF_ERROR(RequireRank(indices, 2, "indices"));
    TF_RETURN_IF_ERROR(RequireRank(values, 1, "values"));
    TF_RETURN_IF_ERROR(RequireRank(context->input(2), 1, "dense_shape"));
    TF_ASSIGN_OR_RETURN(std::vector<int64_t> shape, HostVector(context->input(2), "dense_shape"));
    if (indices.dim_size(1) != static_cast<int64_t>(shape.size())) {
      return absl::InvalidArgumentError(absl::StrCat("Index rank (", indices.dim_size(1),
                                                     ") and shape rank (", shape.size(),
                                                     ") do not match."));
    }
    TF_RETURN_IF_ERROR(CheckSparseTensor(indices, values, shape));
    return shape;
  }

  static absl::Status RequireRank(const Tensor& tensor, int rank, absl::string_view name) {
    if (tensor.dims() == rank) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(name, " must be rank ", rank, " but has shape ",
                                                   tensor.shape().DebugString()));
  }

  DataType Type(OpKernelContext* context) override { return context->input(1).dtype(); }

  absl::StatusOr<OwnedBuffer> Values(OpKernelContext* context,
                                     absl::Span<const int64_t> shape) override {
    return ViewOfTensor(*context, context->input(1), context->input(1).shape());
  }
};

// Inputs: a dense matrix, and the indices of what to take.
class FromDenseKernel final : public FromCoordinatesKernel {
 public:
  explicit FromDenseKernel(OpKernelConstruction* construction)
      : FromCoordinatesKernel(construction, 1) {}

 private:
  absl::StatusOr<std::vector<int64_t>> MatrixShape(OpKernelContext* context) override {
    const Tensor& dense = context->input(0);
    const Tensor& indices = context->input(1);
    if (dense.dims() != 2 && dense.dims() != 3) {
      return absl::InvalidArgumentError(absl::StrCat("params must have rank 2 or 3, but has shape ",
                                                     dense.shape().DebugString()));
    }
    TF_RETURN_IF_ERROR(CheckRank(indices, 2, "indices"));
    if (indices.dim_size(1) != dense.dims()) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices must have a column for each dimension of params: ",
                       indices.shape().DebugString(), " and ", dense.shape().DebugString()));
    }
    const auto sizes = dense.shape().dim_sizes();
    return std::vector<int64_t>(sizes.begin(), sizes.end());
  }

  DataType Type(OpKernelContext* context) override { return context->input(0).dtype(); }

  absl::StatusOr<OwnedBuffer> Values(OpKernelContext* context,
                                     absl::Span<const int64_t> shape) override {
    const Tensor& dense = context->input(0);
    TF_ASSIGN_OR_RETURN(const OwnedBuffer matrix, ViewOfTensor(*context, dense, dense.shape()));
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * coordinates, BufferOf(context->input(1)));
    FfiAttributes attributes;
    attributes.Add("shape", shape);
    TF_ASSIGN_OR_RETURN(
        std::vector<OwnedBuffer> picked,
        Launch(*context, "onexpu.csr_pick", {matrix.get(), coordinates},
               {ResultType{dense.dtype(), TensorShape({context->input(1).dim_size(0)})}},
               attributes.Build()));
    return std::move(picked.front());
  }
};

// Outputs: indices, values, and on the host the shape.
class ToSparseTensorKernel final : public CountedKernel {
 public:
  explicit ToSparseTensorKernel(OpKernelConstruction* construction) : CountedKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("type", &type_));
  }

 private:
  absl::Status Run(OpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const CsrMatrix* matrix, InputMatrix(context, 0, type_));
    TF_RETURN_IF_ERROR(OutputVector(context, 2, matrix->shape));
    context->set_output(1, matrix->values);
    const TensorShape indices({matrix->elements(), matrix->rank()});
    if (matrix->elements() == 0) return OutputUninitialized(context, 0, indices);
    TF_ASSIGN_OR_RETURN(const std::vector<OwnedBuffer> arrays, BuffersOf(*context, *matrix));
    FfiAttributes attributes;
    attributes.Add("shape", absl::MakeConstSpan(matrix->shape));
    TF_ASSIGN_OR_RETURN(
        std::vector<OwnedBuffer> coordinates,
        Launch(*context, "onexpu.csr_coordinates", {arrays[0].get(), arrays[1].get()},
               {ResultType{tensorflow::DT_INT64, indices}}, attributes.Build()));
    return SetOutput(context, 0, indices, std::move(coordinates.front()));
  }

  DataType type_;
};

class ToDenseKernel final : public CountedKernel {
 public:
  explicit ToDenseKernel(OpKernelConstruction* construction) : CountedKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("type", &type_));
  }

 private:
  absl::Status Run(OpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const CsrMatrix* matrix, InputMatrix(context, 0, type_));
    TensorShape shape;
    TF_RETURN_IF_ERROR(TensorShape::BuildTensorShape(matrix->shape, &shape));
    if (shape.num_elements() == 0) return OutputUninitialized(context, 0, shape);
    if (matrix->elements() == 0) {
      TF_ASSIGN_OR_RETURN(OwnedBuffer zeros, ZeroBuffer(*context, type_, shape));
      return SetOutput(context, 0, shape, std::move(zeros));
    }
    TF_ASSIGN_OR_RETURN(const std::vector<OwnedBuffer> arrays, BuffersOf(*context, *matrix));
    FfiAttributes attributes;
    attributes.Add("shape", absl::MakeConstSpan(matrix->shape));
    TF_ASSIGN_OR_RETURN(
        std::vector<OwnedBuffer> dense,
        Launch(*context, "onexpu.csr_to_dense", {arrays[0].get(), arrays[1].get(), arrays[2].get()},
               {ResultType{type_, shape}}, attributes.Build()));
    return SetOutput(context, 0, shape, std::move(dense.front()));
  }

  DataType type_;
};

// The row pointers, column indices and values of one batch.
class ComponentsKernel final : public OpKernel {
 public:
  explicit ComponentsKernel(OpKernelConstruction* construction) : OpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("type", &type_));
  }

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Run(context)); }

 private:
  absl::Status Run(OpKernelContext* context) const {
    TF_ASSIGN_OR_RETURN(const CsrMatrix* matrix, InputMatrix(context, 0, type_));
    const Tensor& index = context->input(1);
    if (index.dims() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("index should be a scalar, but has shape ", index.shape().DebugString()));
    }
    const int64_t batch = index.scalar<int32_t>()();
    if (batch < 0 || batch >= matrix->batches()) {
      return absl::InvalidArgumentError(
          absl::StrCat("index (", batch, ") not in [0, ", matrix->batches(), ")"));
    }
    const int64_t pointers = matrix->rows() + 1, first = matrix->batch_pointers[batch];
    const int64_t elements = matrix->batch_pointers[batch + 1] - first;
    TF_RETURN_IF_ERROR(OutputPiece(context, 0, matrix->row_pointers, batch * pointers, pointers));
    TF_RETURN_IF_ERROR(OutputPiece(context, 1, matrix->column_indices, first, elements));
    return OutputPiece(context, 2, matrix->values, first, elements);
  }

  static absl::Status OutputPiece(OpKernelContext* context, int output, const Tensor& whole,
                                  int64_t first, int64_t size) {
    if (size == whole.NumElements()) {
      context->set_output(output, whole);
      return absl::OkStatus();
    }
    const TensorShape shape({size});
    if (size == 0) return OutputUninitialized(context, output, shape);
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * buffer, BufferOf(whole));
    FfiAttributes attributes;
    attributes.Add("first", first);
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> piece,
                        Launch(*context, "onexpu.copy_rows", {buffer},
                               {ResultType{whole.dtype(), shape}}, attributes.Build()));
    return SetOutput(context, output, shape, std::move(piece.front()));
  }

  DataType type_;
};

// How many elements each batch has, on the host, where they are known.
class CountKernel final : public OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Run(context)); }

 private:
  static absl::Status Run(OpKernelContext* context) {
    TF_ASSIGN_OR_RETURN(const CsrMatrix* matrix, InputMatrix(context, 0));
    Tensor* counts = nullptr;
    const TensorShape shape =
        matrix->rank() == 3 ? TensorShape({matrix->batches()}) : TensorShape({});
    TF_RETURN_IF_ERROR(context->allocate_output(0, shape, &counts));
    for (int64_t batch = 0; batch < matrix->batches(); ++batch) {
      counts->flat<int32_t>()(batch) =
          matrix->batch_pointers[batch + 1] - matrix->batch_pointers[batch];
    }
    return absl::OkStatus();
  }
};

class ZerosKernel final : public OpKernel {
 public:
  explicit ZerosKernel(OpKernelConstruction* construction) : OpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("type", &type_));
  }

  void Compute(OpKernelContext* context) override { OP_REQUIRES_OK(context, Run(context)); }

 private:
  absl::Status Run(OpKernelContext* context) const {
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> shape,
                        HostVector(context->input(0), "dense_shape"));
    TF_RETURN_IF_ERROR(CheckCsrShape(shape));
    TF_ASSIGN_OR_RETURN(CsrMatrix zero, ZeroMatrix(context, type_, shape));
    return OutputMatrix(context, std::move(zero));
  }

  DataType type_;
};

}  // namespace

void RegisterCsrConversionKernels() {
  Register<FromSparseTensorKernel>(XpuKernel("SparseTensorToCSRSparseMatrix")
                                       .TypeConstraint("T", kCsrTypes)
                                       .HostMemory("dense_shape"));
  Register<FromDenseKernel>(XpuKernel("DenseToCSRSparseMatrix").TypeConstraint("T", kCsrTypes));
  Register<ToSparseTensorKernel>(XpuKernel("CSRSparseMatrixToSparseTensor")
                                     .TypeConstraint("type", kCsrTypes)
                                     .HostMemory("dense_shape"));
  Register<ToDenseKernel>(XpuKernel("CSRSparseMatrixToDense").TypeConstraint("type", kCsrTypes));
  Register<ComponentsKernel>(
      XpuKernel("CSRSparseMatrixComponents").TypeConstraint("type", kCsrTypes).HostMemory("index"));
  Register<CountKernel>(XpuKernel("SparseMatrixNNZ").HostMemory("nnz"));
  Register<ZerosKernel>(
      XpuKernel("SparseMatrixZeros").TypeConstraint("type", kCsrTypes).HostMemory("dense_shape"));
}

}  // namespace onexpu::tf_plugin
