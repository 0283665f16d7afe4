// What changes the values of sparse matrices in compressed rows and leaves their structure:
// products with scalars, conjugation, softmax and its gradient. Kernel source: built by
// sycl_kernels, see BUILD. For batches see csr.hpp.

#include "custom_kernels/builtin/csr/csr.hpp"
#include "custom_kernels/builtin/support/complex.hpp"

namespace {

// The elements of a row, of all batches.
inline Elements elements_of(const std::int32_t* row_pointers, const std::int64_t* batch_begins,
                            std::int64_t row, const CsrSizes& sizes) {
  const std::int64_t batch = row / sizes.rows;
  const std::int64_t begin = batch_begins == nullptr ? 0 : batch_begins[batch];
  const std::int32_t* const pointers = row_pointers + row + batch;
  return {begin + pointers[0], begin + pointers[1]};
}

}  // namespace

// A work-item per element. One factor for all batches has no beginnings of these.
template <typename T>
ONEXPU_KERNEL void csr_scale(const T* values, const T* factors, const std::int64_t* batch_begins,
                             T* result, CsrSizes sizes) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  std::int64_t batch = 0;
  if (batch_begins != nullptr) {
    std::int64_t end = sizes.batches;
    while (end - batch > 1) {
      const std::int64_t middle = (batch + end) / 2;
      if (batch_begins[middle] <= i) {
        batch = middle;
      } else {
        end = middle;
      }
    }
  }
  result[i] = values[i] * factors[batch];
}

// A work-item per element.
template <typename T>
ONEXPU_KERNEL void csr_conjugate(const T* values, T* result) {
  const std::int64_t i = std::int64_t(onexpu::global_id());
  result[i] = conjugate(values[i]);
}

// A work-item per row: what a row does not have counts as -infinity.
template <typename T>
ONEXPU_KERNEL void csr_softmax(const std::int32_t* row_pointers, const T* logits,
                               const std::int64_t* batch_begins, T* result, CsrSizes sizes) {
  const Elements row =
      elements_of(row_pointers, batch_begins, std::int64_t(onexpu::global_id()), sizes);
  T largest = -std::numeric_limits<T>::max();
  for (std::int64_t i = row.begin; i < row.end; ++i)
    largest = largest < logits[i] ? logits[i] : largest;
  T sum = 0;
  for (std::int64_t i = row.begin; i < row.end; ++i) {
    result[i] = sycl::exp(logits[i] - largest);
    sum += result[i];
  }
  for (std::int64_t i = row.begin; i < row.end; ++i) result[i] /= sum;
}

// A work-item per row: (gradient - sum(gradient * softmax)) * softmax where the softmax has
// elements. A gradient that has none is zero. Columns ascend.
template <typename T>
ONEXPU_KERNEL void csr_softmax_grad(const std::int32_t* row_pointers, const std::int32_t* columns,
                                    const T* softmax, const std::int64_t* batch_begins,
                                    const std::int32_t* grad_row_pointers,
                                    const std::int32_t* grad_columns, const T* gradient,
                                    const std::int64_t* grad_batch_begins, T* result,
                                    CsrSizes sizes) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const Elements row = elements_of(row_pointers, batch_begins, id, sizes);
  const Elements grad_row = elements_of(grad_row_pointers, grad_batch_begins, id, sizes);
  T sum = 0;
  std::int64_t at = grad_row.begin;
  for (std::int64_t i = row.begin; i < row.end; ++i) {
    while (at < grad_row.end && grad_columns[at] < columns[i]) ++at;
    const bool has_gradient = at < grad_row.end && grad_columns[at] == columns[i];
    result[i] = has_gradient ? gradient[at] : T(0);
    if (has_gradient) sum += gradient[at] * softmax[i];
  }
  for (std::int64_t i = row.begin; i < row.end; ++i) result[i] = (result[i] - sum) * softmax[i];
}
