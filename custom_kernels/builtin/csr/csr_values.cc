#include "custom_kernels/builtin/csr/csr_values.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/csr/csr_structure.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> CsrValuesKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

using Shape = ffi::Span<const int64_t>;

const KernelTable& Table(absl::string_view prefix) {
  return *new KernelTable(CsrValuesKernels(), prefix);
}

KernelRange Items(int64_t count) { return {.global = static_cast<size_t>(count)}; }

absl::StatusOr<SpirvModule*> KernelFor(const KernelTable& kernels, const ffi::AnyBuffer& values,
                                       const ffi::AnyBuffer& result, absl::string_view handler) {
  if (values.element_type() != result.element_type() ||
      values.element_count() != result.element_count()) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: ", handler, ": values ",
                                                   DescribeBuffer(values), " do not become ",
                                                   DescribeBuffer(result)));
  }
  SpirvModule* const kernel = kernels.Find(values.element_type());
  if (kernel != nullptr) return kernel;
  return absl::UnimplementedError(
      absl::StrCat("onexpu: ", handler, " has no kernel for ", DescribeBuffer(values)));
}

const KernelTable& SoftmaxKernels() {
  static const KernelTable& kernels = Table("csr_softmax");
  return kernels;
}

const KernelTable& ConjugateKernels() {
  static const KernelTable& kernels = Table("csr_conjugate");
  return kernels;
}

absl::Status Scale(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                   const ffi::AnyBuffer& row_pointers, const ffi::AnyBuffer& column_indices,
                   const ffi::AnyBuffer& values, const ffi::AnyBuffer& factors,
                   const ffi::AnyBuffer& result, Shape shape) {
  constexpr char kName[] = "csr_scale";
  static const KernelTable& kernels = Table("csr_scale");
  absl::StatusOr<CsrMatrix> matrix =
      ReadCsr(queue, scratch, row_pointers, column_indices, values, shape, kName);
  if (!matrix.ok()) return matrix.status();
  absl::StatusOr<SpirvModule*> kernel = KernelFor(kernels, values, result, kName);
  if (!kernel.ok()) return kernel.status();
  const int64_t count = static_cast<int64_t>(factors.element_count());
  if (factors.element_type() != matrix->type || (count != 1 && count != matrix->sizes.batches)) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: ", kName, ": factors ", DescribeBuffer(factors), " of ",
                     matrix->sizes.batches, " matrices ", DescribeBuffer(values)));
  }
  return LaunchKernel(queue, **kernel, Items(matrix->sizes.elements), matrix->values,
                      factors.untyped_data(), count == 1 ? nullptr : matrix->batch_begins,
                      result.untyped_data(), matrix->sizes);
}

absl::Status Conjugate(sycl::queue& queue, const ffi::AnyBuffer& values,
                       const ffi::AnyBuffer& result) {
  absl::StatusOr<SpirvModule*> kernel =
      KernelFor(ConjugateKernels(), values, result, "csr_conjugate");
  if (!kernel.ok()) return kernel.status();
  return LaunchKernel(queue, **kernel, Items(static_cast<int64_t>(values.element_count())),
                      values.untyped_data(), result.untyped_data());
}

absl::Status Softmax(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                     const ffi::AnyBuffer& row_pointers, const ffi::AnyBuffer& column_indices,
                     const ffi::AnyBuffer& values, const ffi::AnyBuffer& result, Shape shape) {
  constexpr char kName[] = "csr_softmax";
  absl::StatusOr<CsrMatrix> logits =
      ReadCsr(queue, scratch, row_pointers, column_indices, values, shape, kName);
  if (!logits.ok()) return logits.status();
  absl::StatusOr<SpirvModule*> kernel = KernelFor(SoftmaxKernels(), values, result, kName);
  if (!kernel.ok()) return kernel.status();
  return LaunchKernel(queue, **kernel, Items(logits->sizes.all_rows()), logits->row_pointers,
                      logits->values, logits->batch_begins, result.untyped_data(), logits->sizes);
}

absl::Status SoftmaxGrad(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                         const ffi::AnyBuffer& row_pointers, const ffi::AnyBuffer& column_indices,
                         const ffi::AnyBuffer& values, const ffi::AnyBuffer& grad_row_pointers,
                         const ffi::AnyBuffer& grad_column_indices,
                         const ffi::AnyBuffer& grad_values, const ffi::AnyBuffer& result,
                         Shape shape) {
  constexpr char kName[] = "csr_softmax_grad";
  static const KernelTable& kernels = Table("csr_softmax_grad");
  absl::StatusOr<CsrMatrix> softmax =
      ReadCsr(queue, scratch, row_pointers, column_indices, values, shape, kName);
  if (!softmax.ok()) return softmax.status();
  absl::StatusOr<CsrMatrix> gradient =
      ReadCsr(queue, scratch, grad_row_pointers, grad_column_indices, grad_values, shape, kName);
  if (!gradient.ok()) return gradient.status();
  absl::StatusOr<SpirvModule*> kernel = KernelFor(kernels, values, result, kName);
  if (!kernel.ok()) return kernel.status();
  if (gradient->type != softmax->type) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: ", kName, ": a gradient ",
                                                   DescribeBuffer(grad_values), " of ",
                                                   DescribeBuffer(values)));
  }
  return LaunchKernel(queue, **kernel, Items(softmax->sizes.all_rows()), softmax->row_pointers,
                      softmax->column_indices, softmax->values, softmax->batch_begins,
                      gradient->row_pointers, gradient->column_indices, gradient->values,
                      gradient->batch_begins, result.untyped_data(), softmax->sizes);
}

}  // namespace

XLA_FFI_Error* CsrScaleHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Scale, 1>(frame, "shape");
}

XLA_FFI_Error* CsrConjugateHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Conjugate, 1>(frame);
}

XLA_FFI_Error* CsrSoftmaxHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Softmax, 1>(frame, "shape");
}

XLA_FFI_Error* CsrSoftmaxGradHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<SoftmaxGrad, 1>(frame, "shape");
}

std::vector<std::string> CsrConjugateTypes() { return ConjugateKernels().TypeNames(); }

std::vector<std::string> CsrSoftmaxTypes() { return SoftmaxKernels().TypeNames(); }

}  // namespace onexpu
