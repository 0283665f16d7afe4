#include "pjrt_core/thunks/sgemm.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "oneapi/dnnl/dnnl.h"

namespace onexpu {
namespace {

// The last two dimensions of a tensor whose others have one element each.
struct Matrix {
  int64_t rows, columns, row_stride, column_stride;
};

std::optional<Matrix> ToMatrix(const program::Tensor& tensor) {
  const uint32_t rank = tensor.dimensions()->size();
  if (tensor.element_type() != program::ElementType::F32 || rank < 2) return std::nullopt;
  for (uint32_t i = 0; i + 2 < rank; ++i) {
    if (tensor.dimensions()->Get(i) != 1) return std::nullopt;
  }
  return Matrix{tensor.dimensions()->Get(rank - 2), tensor.dimensions()->Get(rank - 1),
                tensor.strides()->Get(rank - 2), tensor.strides()->Get(rank - 1)};
}

// The distance of rows where each lies together; nothing where they do not. Strides of dimensions
// of one element mean nothing.
std::optional<int64_t> RowStride(const Matrix& matrix) {
  if (matrix.column_stride != 1 && matrix.columns > 1) return std::nullopt;
  const int64_t stride = matrix.rows > 1 ? matrix.row_stride : matrix.columns;
  return stride >= std::max<int64_t>(1, matrix.columns) ? std::optional(stride) : std::nullopt;
}

Matrix Transposed(const Matrix& matrix) {
  return {matrix.columns, matrix.rows, matrix.column_stride, matrix.row_stride};
}

// oneDNN's kernel for AVX2 reads a transposed left matrix where it lies. Rows that are pages apart
// meet in few sets of the cache then (1024 x 512 by 512 x 256: 4.0 ms, the primitive's 2.4).
bool ReadsFewCacheSets(char transposed, int64_t stride) {
  constexpr int64_t kPage = 4096 / sizeof(float);
  static const bool is_avx2 = dnnl_get_effective_cpu_isa() < dnnl_cpu_isa_avx512_core;
  return is_avx2 && transposed == 'T' && stride % kPage == 0;
}

char Other(char transposed) { return transposed == 'N' ? 'T' : 'N'; }

}  // namespace

std::optional<Sgemm::Operand> Sgemm::ToOperand(const program::Tensor& tensor) {
  const std::optional<Matrix> matrix = ToMatrix(tensor);
  if (!matrix.has_value()) return std::nullopt;
  if (const auto stride = RowStride(*matrix)) return Operand{'N', *stride};
  if (const auto stride = RowStride(Transposed(*matrix))) return Operand{'T', *stride};
  return std::nullopt;
}

std::optional<Sgemm> Sgemm::Create(const program::GemmThunk& gemm) {
  if (gemm.bias() != nullptr || gemm.activation() != program::Activation::None) return std::nullopt;
  const std::optional<Operand> lhs = ToOperand(*gemm.lhs());
  const std::optional<Operand> rhs = ToOperand(*gemm.rhs());
  const std::optional<Operand> result = ToOperand(*gemm.result());
  const std::optional<Matrix> shape = ToMatrix(*gemm.result());
  if (!lhs.has_value() || !rhs.has_value() || !result.has_value()) return std::nullopt;
  Sgemm sgemm;
  sgemm.lhs_ = *lhs;
  sgemm.rhs_ = *rhs;
  sgemm.rows_ = shape->rows;
  sgemm.columns_ = shape->columns;
  sgemm.inner_ = gemm.lhs()->dimensions()->Get(gemm.lhs()->dimensions()->size() - 1);
  sgemm.result_stride_ = result->stride;
  sgemm.alpha_ = gemm.alpha();
  sgemm.beta_ = gemm.addend() != nullptr ? gemm.beta() : 0.f;
  if (result->transposed == 'T') {
    sgemm.swaps_ = true;
    sgemm.lhs_ = {Other(rhs->transposed), rhs->stride};
    sgemm.rhs_ = {Other(lhs->transposed), lhs->stride};
    std::swap(sgemm.rows_, sgemm.columns_);
  }
  if (ReadsFewCacheSets(sgemm.lhs_.transposed, sgemm.lhs_.stride)) return std::nullopt;
  return sgemm;
}

void Sgemm::Run(const void* object, void* lhs, void* rhs, void* result) {
  const Sgemm& self = *static_cast<const Sgemm*>(object);
  if (self.swaps_) std::swap(lhs, rhs);
  auto* const elements = static_cast<float*>(result);
  const dnnl_status_t status = dnnl_sgemm(
      self.lhs_.transposed, self.rhs_.transposed, self.rows_, self.columns_, self.inner_,
      self.alpha_, static_cast<const float*>(lhs), self.lhs_.stride, static_cast<const float*>(rhs),
      self.rhs_.stride, self.beta_, elements, self.result_stride_);
  if (status == dnnl_success) return;
  for (int64_t row = 0; row < self.rows_; ++row) {
    std::fill_n(elements + row * self.result_stride_, self.columns_,
                std::numeric_limits<float>::quiet_NaN());
  }
}

}  // namespace onexpu
