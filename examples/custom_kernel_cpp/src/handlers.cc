// Host code: what a call does with the device's queue.
#include <onexpu/custom_kernel.h>

#include <oneapi/mkl/blas.hpp>

#include "device.h"  // written by onexpu.embed_kernels

namespace {

namespace ffi = xla::ffi;
using Vector = ffi::Buffer<ffi::F32>;  // of any rank
using Matrix = ffi::Buffer<ffi::F32, 2>;

// Device code of one's own.
ffi::Error SquaredRelu(sycl::queue& queue, Vector x, ffi::Result<Vector> y, float scale) {
  squared_relu_kernel(queue, sycl::range<1>(x.element_count()), x.typed_data(), y->typed_data(),
                      scale);
  return ffi::Error::Success();
}
ONEXPU_REGISTER_KERNEL(squared_relu, SquaredRelu,
                       onexpu::Bind().Arg<Vector>().Ret<Vector>().Attr<float>("scale"));

ffi::Error SquaredReluGradient(sycl::queue& queue, Vector x, Vector dy, ffi::Result<Vector> dx,
                               float scale) {
  squared_relu_gradient_kernel(queue, sycl::range<1>(x.element_count()), x.typed_data(),
                               dy.typed_data(), dx->typed_data(), scale);
  return ffi::Error::Success();
}
ONEXPU_REGISTER_KERNEL(
    squared_relu_gradient, SquaredReluGradient,
    onexpu::Bind().Arg<Vector>().Arg<Vector>().Ret<Vector>().Attr<float>("scale"));

// A library on the same queue: oneMKL, which computes in host tasks on a CPU device, so the place
// of its work among the queue's is spelled out.
using oneapi::mkl::transpose;
using oneapi::mkl::blas::row_major::gemm;

// y = x^T x
ffi::Error Gram(sycl::queue& queue, Matrix x, ffi::Result<Matrix> y) {
  const int64_t rows = x.dimensions()[0], columns = x.dimensions()[1];
  if (y->dimensions()[0] != columns || y->dimensions()[1] != columns) {
    return onexpu::InvalidArgument("gram: the result of ", rows, " x ", columns, " is square, not ",
                                   y->dimensions()[0], " x ", y->dimensions()[1]);
  }
  if (columns == 0) return ffi::Error::Success();
  onexpu::SubmitInOrder(queue, [&](const std::vector<sycl::event>& before) {
    return gemm(queue, transpose::trans, transpose::nontrans, columns, columns, rows, 1.0f,
                x.typed_data(), columns, x.typed_data(), columns, 0.0f, y->typed_data(), columns,
                before);
  });
  return ffi::Error::Success();
}
ONEXPU_REGISTER_KERNEL(gram, Gram, onexpu::Bind().Arg<Matrix>().Ret<Matrix>());

// dx = x (dy + dy^T)
ffi::Error GramGradient(sycl::queue& queue, Matrix x, Matrix dy, ffi::Result<Matrix> dx) {
  const int64_t rows = x.dimensions()[0], columns = x.dimensions()[1];
  if (x.element_count() == 0) return ffi::Error::Success();
  onexpu::SubmitInOrder(queue, [&](const std::vector<sycl::event>& before) {
    const auto multiply = [&](transpose of_dy, float beta, const std::vector<sycl::event>& after) {
      return gemm(queue, transpose::nontrans, of_dy, rows, columns, columns, 1.0f, x.typed_data(),
                  columns, dy.typed_data(), columns, beta, dx->typed_data(), columns, after);
    };
    return multiply(transpose::trans, 1.0f, {multiply(transpose::nontrans, 0.0f, before)});
  });
  return ffi::Error::Success();
}
ONEXPU_REGISTER_KERNEL(gram_gradient, GramGradient,
                       onexpu::Bind().Arg<Matrix>().Arg<Matrix>().Ret<Matrix>());

}  // namespace
