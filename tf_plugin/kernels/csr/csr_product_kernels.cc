// Products of sparse matrices in compressed rows on XPU: SparseMatrixMatMul and
// SparseMatrixSparseMatMul.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/kernels/csr/csr_kernel.h"
#include "tf_plugin/kernels/csr/csr_matrix.h"
#include "tf_plugin/kernels/support/counted_kernel.h"
#include "tf_plugin/kernels/support/device_count.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/host_read.h"
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

// The options of products: an operand is transposed, or transposed and conjugated.
struct Turn {
  bool transpose = false, conjugate = false;

  void Read(OpKernelConstruction* construction, const char* operand) {
    bool adjoint = false;
    OP_REQUIRES_OK(construction,
                   construction->GetAttr(absl::StrCat("transpose_", operand), &transpose));
    OP_REQUIRES_OK(construction,
                   construction->GetAttr(absl::StrCat("adjoint_", operand), &adjoint));
    OP_REQUIRES(construction, !(adjoint && transpose),
                absl::InvalidArgumentError(absl::StrCat(
                    "Only one of adjoint_", operand, " and transpose_", operand, " may be true.")));
    conjugate = adjoint;
    transpose |= adjoint;
  }
};

// A sparse matrix times a dense one.
class MatMulKernel final : public CountedKernel {
 public:
  explicit MatMulKernel(OpKernelConstruction* construction) : CountedKernel(construction) {
    a_.Read(construction, "a");
    b_.Read(construction, "b");
    OP_REQUIRES_OK(construction, construction->GetAttr("transpose_output", &transpose_output_));
    OP_REQUIRES_OK(construction, construction->GetAttr("conjugate_output", &conjugate_output_));
  }

 private:
  absl::StatusOr<TensorShape> ResultShape(const CsrMatrix& a, const Tensor& b) const {
    const int rank = a.rank();
    if (rank != b.dims() || (rank == 3 && b.dim_size(0) != a.batches())) {
      return absl::InvalidArgumentError(
          absl::StrCat("Ranks and batch sizes of a and b must match, saw: ", DescribeSizes(a.shape),
                       " vs. ", b.shape().DebugString()));
    }
    const int64_t rows = a_.transpose ? a.columns() : a.rows();
    const int64_t inner_a = a_.transpose ? a.rows() : a.columns();
    const int64_t inner_b = b.dim_size(b_.transpose ? rank - 1 : rank - 2);
    const int64_t columns = b.dim_size(b_.transpose ? rank - 2 : rank - 1);
    if (inner_a != inner_b) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Inner product dimensions of A and B do not agree.  Shapes are: ", DescribeSizes(a.shape),
          " vs. ", b.shape().DebugString()));
    }
    TensorShape shape;
    if (rank == 3) TF_RETURN_IF_ERROR(shape.AddDimWithStatus(a.batches()));
    TF_RETURN_IF_ERROR(shape.AddDimWithStatus(transpose_output_ ? columns : rows));
    TF_RETURN_IF_ERROR(shape.AddDimWithStatus(transpose_output_ ? rows : columns));
    return shape;
  }

  absl::Status Run(OpKernelContext* context) const override {
    const Tensor& b = context->input(1);
    TF_ASSIGN_OR_RETURN(const CsrMatrix* a, InputMatrix(context, 0, b.dtype()));
    TF_ASSIGN_OR_RETURN(const TensorShape shape, ResultShape(*a, b));
    if (shape.num_elements() == 0) return OutputUninitialized(context, 0, shape);
    if (a->elements() == 0) {
      TF_ASSIGN_OR_RETURN(OwnedBuffer zeros, ZeroBuffer(*context, b.dtype(), shape));
      return SetOutput(context, 0, shape, std::move(zeros));
    }
    TF_ASSIGN_OR_RETURN(const std::vector<OwnedBuffer> arrays, BuffersOf(*context, *a));
    std::vector<PJRT_Buffer*> operands = Borrow({arrays});
    TF_ASSIGN_OR_RETURN(operands.emplace_back(), BufferOf(b));
    FfiAttributes attributes;
    attributes.Add("shape", absl::MakeConstSpan(a->shape))
        .Add("transpose_a", int64_t{a_.transpose})
        .Add("conjugate_a", int64_t{a_.conjugate})
        .Add("transpose_b", int64_t{b_.transpose})
        .Add("conjugate_b", int64_t{b_.conjugate})
        .Add("transpose_output", int64_t{transpose_output_})
        .Add("conjugate_output", int64_t{conjugate_output_});
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> product,
                        Launch(*context, "onexpu.csr_matmul", operands,
                               {ResultType{b.dtype(), shape}}, attributes.Build()));
    return SetOutput(context, 0, shape, std::move(product.front()));
  }

  Turn a_, b_;
  bool transpose_output_ = false, conjugate_output_ = false;
};

// A sparse matrix times a sparse one: the device counts the terms, then makes them and counts the
// elements. No thread waits meanwhile.
class SparseMatMulKernel final : public tensorflow::AsyncOpKernel {
 public:
  explicit SparseMatMulKernel(OpKernelConstruction* construction)
      : AsyncOpKernel(construction),
        executions_(PlacementCounter(Route::kSyclKernel, type_string())) {
    OP_REQUIRES_OK(construction, construction->GetAttr("type", &type_));
    a_.Read(construction, "a");
    b_.Read(construction, "b");
  }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    auto factors = std::make_shared<Factors>();
    const absl::Status status = ReadFactors(context, factors.get());
    OP_REQUIRES_OK_ASYNC(context, status, done);
    if (factors->a.elements() == 0 || factors->b.elements() == 0) {
      OP_REQUIRES_OK_ASYNC(context, OutputZero(context, factors->shape), done);
      done();
      return;
    }
    absl::StatusOr<OwnedBuffer> count = CountTerms(context, *factors);
    OP_REQUIRES_OK_ASYNC(context, count.status(), done);
    Count(executions_);
    ReadNumbers(context, *std::move(count), done,
                [this, context, factors, done](absl::Span<const int64_t> terms) {
                  Multiply(context, factors, terms[0], done);
                });
  }

 private:
  // As they are multiplied, and the shape of the product.
  struct Factors {
    CsrMatrix a, b;
    std::vector<int64_t> shape;
    std::vector<OwnedBuffer> a_arrays, b_arrays;
  };

  static void ReadNumbers(OpKernelContext* context, OwnedBuffer buffer, const DoneCallback& done,
                          std::function<void(absl::Span<const int64_t>)> then) {
    ReadBytesAsync(
        context, std::move(buffer),
        [context, done, then = std::move(then)](absl::StatusOr<std::vector<uint8_t>> read) {
          OP_REQUIRES_OK_ASYNC(context, read.status(), done);
          std::vector<int64_t> numbers(read->size() / sizeof(int64_t));
          std::memcpy(numbers.data(), read->data(), numbers.size() * sizeof(int64_t));
          then(numbers);
        });
  }

  absl::Status ReadFactors(OpKernelContext* context, Factors* factors) const {
    TF_ASSIGN_OR_RETURN(const CsrMatrix* a, InputMatrix(context, 0, type_));
    TF_ASSIGN_OR_RETURN(const CsrMatrix* b, InputMatrix(context, 1, type_));
    const std::vector<int64_t> a_shape = a_.transpose ? TransposedSizes(a->shape) : a->shape;
    const std::vector<int64_t> b_shape = b_.transpose ? TransposedSizes(b->shape) : b->shape;
    if (a->rank() != b->rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Ranks of A and B do not agree.  Shapes are: ", DescribeSizes(a_shape),
                       " vs. ", DescribeSizes(b_shape)));
    }
    if (a->batches() != b->batches() && a->batches() != 1 && b->batches() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Batch sizes of A and B are not compatible.  Batch sizes are: ", a->batches(), " vs. ",
          b->batches()));
    }
    if (a_shape.back() != b_shape[b_shape.size() - 2]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Inner product dimensions of A and B do not agree.  Shapes are: ", DescribeSizes(a_shape),
          " vs. ", DescribeSizes(b_shape)));
    }
    // A matrix with one batch is multiplied with all of the other's.
    factors->shape = a->batches() == 1 ? b_shape : a_shape;
    factors->shape[factors->shape.size() - 2] = a_shape[a_shape.size() - 2];
    factors->shape.back() = b_shape.back();
    TF_RETURN_IF_ERROR(CheckCsrShape(factors->shape));
    TF_ASSIGN_OR_RETURN(factors->a, Turned(context, *a, a_));
    TF_ASSIGN_OR_RETURN(factors->b, Turned(context, *b, b_));
    TF_ASSIGN_OR_RETURN(factors->a_arrays, BuffersOf(*context, factors->a));
    TF_ASSIGN_OR_RETURN(factors->b_arrays, BuffersOf(*context, factors->b));
    return absl::OkStatus();
  }

  static absl::StatusOr<CsrMatrix> Turned(OpKernelContext* context, const CsrMatrix& matrix,
                                          const Turn& turn) {
    if (!turn.transpose) return matrix;
    return TransposeMatrix(context, matrix, turn.conjugate);
  }

  absl::Status OutputZero(OpKernelContext* context, absl::Span<const int64_t> shape) const {
    TF_ASSIGN_OR_RETURN(CsrMatrix zero, ZeroMatrix(context, type_, shape));
    return OutputMatrix(context, std::move(zero));
  }

  static absl::StatusOr<OwnedBuffer> CountTerms(OpKernelContext* context, const Factors& factors) {
    FfiAttributes attributes;
    attributes.Add("shape", absl::MakeConstSpan(factors.a.shape))
        .Add("b_shape", absl::MakeConstSpan(factors.b.shape));
    TF_ASSIGN_OR_RETURN(
        std::vector<OwnedBuffer> count,
        Launch(*context, "onexpu.csr_product_terms", Borrow({factors.a_arrays, factors.b_arrays}),
               {ResultType{tensorflow::DT_INT64, TensorShape({1}), kOnexpuMemoryPinnedHost}},
               attributes.Build()));
    return std::move(count.front());
  }

  // An upper bound for the elements of a product: its terms or its cells, the fewer.
  static absl::StatusOr<int64_t> Capacity(absl::Span<const int64_t> shape, int64_t terms) {
    int64_t cells = 1;
    for (const int64_t size : shape) {
      if (__builtin_mul_overflow(cells, size, &cells)) cells = terms;
    }
    const int64_t capacity = std::min(terms, cells);
    if (capacity <= std::numeric_limits<uint32_t>::max()) return capacity;
    return absl::UnimplementedError(
        absl::StrCat("onexpu: SparseMatrixSparseMatMul: a product of shape ", DescribeSizes(shape),
                     " with ", terms, " terms, of 2^32 - 1 at most"));
  }

  absl::StatusOr<std::vector<OwnedBuffer>> LaunchProduct(OpKernelContext* context,
                                                         const Factors& factors, int64_t terms,
                                                         int64_t capacity) const {
    FfiAttributes attributes;
    attributes.Add("shape", absl::MakeConstSpan(factors.a.shape))
        .Add("b_shape", absl::MakeConstSpan(factors.b.shape))
        .Add("terms", terms);
    return Launch(*context, "onexpu.csr_product", Borrow({factors.a_arrays, factors.b_arrays}),
                  MatrixTypes(type_, factors.shape, capacity), attributes.Build());
  }

  void Multiply(OpKernelContext* context, const std::shared_ptr<Factors>& factors, int64_t terms,
                const DoneCallback& done) {
    if (terms == 0) {
      OP_REQUIRES_OK_ASYNC(context, OutputZero(context, factors->shape), done);
      done();
      return;
    }
    OP_REQUIRES_OK_ASYNC(context, CheckCount(*context, terms, std::numeric_limits<int64_t>::max()),
                         done);
    const absl::StatusOr<int64_t> capacity = Capacity(factors->shape, terms);
    OP_REQUIRES_OK_ASYNC(context, capacity.status(), done);
    absl::StatusOr<std::vector<OwnedBuffer>> launched =
        LaunchProduct(context, *factors, terms, *capacity);
    OP_REQUIRES_OK_ASYNC(context, launched.status(), done);
    OwnedBuffer numbers = std::move(launched->back());
    launched->pop_back();
    // std::function wants copyable captures.
    auto arrays = std::make_shared<std::vector<OwnedBuffer>>(*std::move(launched));
    ReadNumbers(context, std::move(numbers), done,
                [this, context, factors, arrays, capacity = *capacity,
                 done](absl::Span<const int64_t> batch_sizes) {
                  absl::StatusOr<CsrMatrix> product =
                      MatrixOf(context, type_, factors->shape, absl::MakeSpan(*arrays), capacity,
                               batch_sizes);
                  OP_REQUIRES_OK_ASYNC(context, product.status(), done);
                  OP_REQUIRES_OK_ASYNC(context, OutputMatrix(context, *std::move(product)), done);
                  done();
                });
  }

  std::atomic<uint64_t>& executions_;
  DataType type_;
  Turn a_, b_;
};

}  // namespace

void RegisterCsrProductKernels() {
  Register<MatMulKernel>(XpuKernel("SparseMatrixMatMul").TypeConstraint("T", kCsrTypes));
  Register<SparseMatMulKernel>(
      XpuKernel("SparseMatrixSparseMatMul").TypeConstraint("type", kCsrTypes));
}

}  // namespace onexpu::tf_plugin
