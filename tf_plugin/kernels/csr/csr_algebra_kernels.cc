// Algebra of sparse matrices in compressed rows on XPU: SparseMatrixAdd, SparseMatrixMul,
// SparseMatrixTranspose, SparseMatrixSoftmax with its gradient, and Conj.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/kernels/csr/csr_kernel.h"
#include "tf_plugin/kernels/csr/csr_matrix.h"
#include "tf_plugin/kernels/support/counted_kernel.h"
#include "tf_plugin/kernels/support/dynamic_shape_kernel.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

class TransposeKernel final : public CountedKernel {
 public:
  explicit TransposeKernel(OpKernelConstruction* construction) : CountedKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("type", &type_));
    OP_REQUIRES_OK(construction, construction->GetAttr("conjugate", &conjugate_));
  }

 private:
  absl::Status Run(OpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const CsrMatrix* matrix, InputMatrix(context, 0, type_));
    TF_ASSIGN_OR_RETURN(CsrMatrix transposed, TransposeMatrix(context, *matrix, conjugate_));
    return OutputMatrix(context, std::move(transposed));
  }

  DataType type_;
  bool conjugate_ = false;
};

// The conjugate of a matrix. TensorFlow's Conj of variants is for sparse matrices alone.
class ConjugateKernel final : public CountedKernel {
 public:
  using CountedKernel::CountedKernel;

 private:
  absl::Status Run(OpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const CsrMatrix* matrix, InputMatrix(context, 0));
    if (!tensorflow::DataTypeIsComplex(matrix->dtype()) || matrix->elements() == 0) {
      return OutputMatrix(context, *matrix);
    }
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * values, BufferOf(matrix->values));
    FfiAttributes attributes;
    TF_ASSIGN_OR_RETURN(
        std::vector<OwnedBuffer> conjugated,
        Launch(*context, "onexpu.csr_conjugate", {values},
               {ResultType{matrix->dtype(), matrix->values.shape()}}, attributes.Build()));
    TF_ASSIGN_OR_RETURN(CsrMatrix result,
                        WithValues(context, *matrix, std::move(conjugated.front())));
    return OutputMatrix(context, std::move(result));
  }
};

// alpha * A + beta * B, with the scalars on the device, too.
class AddKernel final : public DynamicShapeKernel {
 public:
  explicit AddKernel(OpKernelConstruction* construction) : DynamicShapeKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("T", &type_));
  }

 private:
  absl::StatusOr<std::vector<OwnedBuffer>> Start(OpKernelContext* context) override {
    const CsrMatrix* matrices[2];
    int64_t elements = 0;
    std::vector<OwnedBuffer> operands;
    for (int i = 0; i < 2; ++i) {
      TF_ASSIGN_OR_RETURN(matrices[i], InputMatrix(context, i, type_));
      const Tensor& scale = context->input(2 + i);
      if (scale.dims() != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("Expected ", i == 0 ? "alpha" : "beta",
                         " to be a scalar, saw shape: ", scale.shape().DebugString()));
      }
      if (matrices[i]->elements() == 0) continue;
      elements += matrices[i]->elements();
      TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> arrays, BuffersOf(*context, *matrices[i]));
      for (OwnedBuffer& array : arrays) operands.push_back(std::move(array));
      TF_ASSIGN_OR_RETURN(operands.emplace_back(), ViewOfTensor(*context, scale, scale.shape()));
    }
    const std::vector<int64_t>& shape = matrices[0]->shape;
    if (shape != matrices[1]->shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("Incompatible shapes of a and b, a.shape == ", DescribeSizes(shape),
                       ", b.shape == ", DescribeSizes(matrices[1]->shape)));
    }
    if (elements == 0) {
      TF_RETURN_IF_ERROR(OutputMatrix(context, *matrices[0]));
      return std::vector<OwnedBuffer>();
    }
    FfiAttributes attributes;
    attributes.Add("shape", absl::MakeConstSpan(shape));
    return Launch(*context, "onexpu.csr_add", Borrow({operands}),
                  MatrixTypes(type_, shape, elements), attributes.Build());
  }

  absl::Status Finish(OpKernelContext* context, std::vector<OwnedBuffer>& results,
                      absl::Span<const int64_t> numbers) override {
    TF_ASSIGN_OR_RETURN(const CsrMatrix* a, InputMatrix(context, 0));
    TF_ASSIGN_OR_RETURN(const CsrMatrix* b, InputMatrix(context, 1));
    TF_ASSIGN_OR_RETURN(CsrMatrix sum, MatrixOf(context, type_, a->shape, absl::MakeSpan(results),
                                                a->elements() + b->elements(), numbers));
    return OutputMatrix(context, std::move(sum));
  }

  DataType type_;
};

// A sparse matrix times a number, or times one for each batch.
class MulKernel final : public CountedKernel {
 public:
  using CountedKernel::CountedKernel;

 private:
  absl::Status Run(OpKernelContext* context) const override {
    const Tensor& b = context->input(1);
    TF_ASSIGN_OR_RETURN(const CsrMatrix* a, InputMatrix(context, 0, b.dtype()));
    if (b.dims() == 3) {
      if (a->rank() != 3 || b.dim_size(0) != a->batches() || b.NumElements() != a->batches()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "If b is a rank-3 tensor, then a must be a rank 3 and the size of b be "
            "[batch_size, 1, 1].  But the shape of b is: ",
            b.shape().DebugString(), " and the shape of a is: ", DescribeSizes(a->shape)));
      }
    } else if (b.dims() != 0) {
      return absl::UnimplementedError(
          absl::StrCat("Multiplying by a 2D+ dense tensor is not currently supported, but shape of "
                       "b is: ",
                       b.shape().DebugString()));
    }
    if (a->elements() == 0) return OutputMatrix(context, *a);
    TF_ASSIGN_OR_RETURN(const std::vector<OwnedBuffer> arrays, BuffersOf(*context, *a));
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * factors, BufferOf(b));
    std::vector<PJRT_Buffer*> operands = Borrow({arrays});
    operands.push_back(factors);
    FfiAttributes attributes;
    attributes.Add("shape", absl::MakeConstSpan(a->shape));
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> scaled,
                        Launch(*context, "onexpu.csr_scale", operands,
                               {ResultType{a->dtype(), a->values.shape()}}, attributes.Build()));
    TF_ASSIGN_OR_RETURN(CsrMatrix result, WithValues(context, *a, std::move(scaled.front())));
    return OutputMatrix(context, std::move(result));
  }
};

class SoftmaxKernel final : public CountedKernel {
 public:
  explicit SoftmaxKernel(OpKernelConstruction* construction) : CountedKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("type", &type_));
  }

 private:
  absl::Status Run(OpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const CsrMatrix* logits, InputMatrix(context, 0, type_));
    if (logits->elements() == 0) return OutputMatrix(context, *logits);
    TF_ASSIGN_OR_RETURN(const std::vector<OwnedBuffer> arrays, BuffersOf(*context, *logits));
    FfiAttributes attributes;
    attributes.Add("shape", absl::MakeConstSpan(logits->shape));
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> values,
                        Launch(*context, "onexpu.csr_softmax", Borrow({arrays}),
                               {ResultType{type_, logits->values.shape()}}, attributes.Build()));
    TF_ASSIGN_OR_RETURN(CsrMatrix result, WithValues(context, *logits, std::move(values.front())));
    return OutputMatrix(context, std::move(result));
  }

  DataType type_;
};

class SoftmaxGradKernel final : public CountedKernel {
 public:
  explicit SoftmaxGradKernel(OpKernelConstruction* construction) : CountedKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("type", &type_));
  }

 private:
  absl::Status Run(OpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const CsrMatrix* softmax, InputMatrix(context, 0, type_));
    TF_ASSIGN_OR_RETURN(const CsrMatrix* gradient, InputMatrix(context, 1, type_));
    if (softmax->shape != gradient->shape) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Shapes of softmax and grad_softmax matrices differ: ", DescribeSizes(softmax->shape),
          " vs. ", DescribeSizes(gradient->shape)));
    }
    if (softmax->elements() == 0) return OutputMatrix(context, *softmax);
    TF_ASSIGN_OR_RETURN(const std::vector<OwnedBuffer> arrays, BuffersOf(*context, *softmax));
    TF_ASSIGN_OR_RETURN(const std::vector<OwnedBuffer> of_gradient, BuffersOf(*context, *gradient));
    FfiAttributes attributes;
    attributes.Add("shape", absl::MakeConstSpan(softmax->shape));
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> values,
                        Launch(*context, "onexpu.csr_softmax_grad", Borrow({arrays, of_gradient}),
                               {ResultType{type_, softmax->values.shape()}}, attributes.Build()));
    TF_ASSIGN_OR_RETURN(CsrMatrix result, WithValues(context, *softmax, std::move(values.front())));
    return OutputMatrix(context, std::move(result));
  }

  DataType type_;
};

}  // namespace

void RegisterCsrAlgebraKernels() {
  constexpr DataType kReal[] = {tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE};
  Register<AddKernel>(XpuKernel("SparseMatrixAdd").TypeConstraint("T", kCsrTypes));
  Register<MulKernel>(XpuKernel("SparseMatrixMul").TypeConstraint("T", kCsrTypes));
  Register<TransposeKernel>(XpuKernel("SparseMatrixTranspose").TypeConstraint("type", kCsrTypes));
  Register<SoftmaxKernel>(XpuKernel("SparseMatrixSoftmax").TypeConstraint("type", kReal));
  Register<SoftmaxGradKernel>(XpuKernel("SparseMatrixSoftmaxGrad").TypeConstraint("type", kReal));
  Register<ConjugateKernel>(XpuKernel("Conj").TypeConstraint("T", tensorflow::DT_VARIANT));
}

}  // namespace onexpu::tf_plugin
