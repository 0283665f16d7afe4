#include "pjrt_core/thunks/sgemm.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "oneapi/dnnl/dnnl.h"
#include "oneapi/tbb/blocked_range.h"
#include "oneapi/tbb/parallel_for.h"

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

// Lines that are pages apart, or half of one, meet in few sets of the cache and throw one another
// out. Where oneDNN walks across lines, a copy whose lines are apart costs less.
constexpr int64_t kPage = 4096 / sizeof(float);
bool MeetInCache(int64_t lines, int64_t stride, int64_t distance) {
  constexpr int64_t kWays = 8;  // of a set
  return lines > kWays && stride % distance == 0;
}

// Calls copy(begin, end) for parts of `count` on all of the device's threads.
template <typename Copy>
void CopyInParts(int64_t count, int64_t part, const Copy& copy) {
  const auto body = [&](const tbb::blocked_range<int64_t>& range) {
    copy(range.begin(), range.end());
  };
  tbb::parallel_for(tbb::blocked_range<int64_t>(0, count, part), body);
}

constexpr int64_t kElementsOfPart = 16 << 10;

void CopyLines(const float* from, int64_t from_stride, float* to, int64_t to_stride, int64_t lines,
               int64_t line) {
  CopyInParts(lines, std::max<int64_t>(1, kElementsOfPart / line), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::copy_n(from + i * from_stride, line, to + i * to_stride);
    }
  });
}

void CopyElements(const float* from, float* to, int64_t count) {
  CopyInParts(count, kElementsOfPart,
              [&](int64_t begin, int64_t end) { std::copy(from + begin, from + end, to + begin); });
}

constexpr int64_t kMostCopiedBytes = 16 << 20;        // of scratch
constexpr int64_t kLinesApart = 128 / sizeof(float);  // two cache lines: whole vectors stay aligned

}  // namespace

std::optional<Sgemm::Operand> Sgemm::ToOperand(const program::Tensor& tensor) {
  const std::optional<Matrix> matrix = ToMatrix(tensor);
  if (!matrix.has_value()) return std::nullopt;
  if (const auto stride = RowStride(*matrix)) {
    return Operand{'N', *stride, matrix->rows, matrix->columns};
  }
  if (const auto stride = RowStride(Transposed(*matrix))) {
    return Operand{'T', *stride, matrix->columns, matrix->rows};
  }
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
  if (sgemm.beta_ != 0.f) {
    sgemm.addend_elements_ = gemm.result()->slice()->size() / static_cast<int64_t>(sizeof(float));
  }
  if (result->transposed == 'T') {
    sgemm.swaps_ = true;
    std::swap(sgemm.lhs_, sgemm.rhs_);
    for (Operand* operand : {&sgemm.lhs_, &sgemm.rhs_}) {
      operand->transposed = operand->transposed == 'N' ? 'T' : 'N';
    }
    std::swap(sgemm.rows_, sgemm.columns_);
  }
  return sgemm.LayApart() ? std::optional(sgemm) : std::nullopt;
}

// AVX2's kernel reads a transposed left side where it lies (1024 x 512 by 512 x 256: 3.7 ms, from
// the copy 1.9), and a right side down its columns (256 x 1024 by 1024 x 1024: 8.1 ms, 3.9; with
// few rows that costs less than the copy). That for AVX-512 packs both; the left side's walk shows
// beside few columns (2048 x 512 by 512 x 512: 6.2 ms, 5.5), that of a transposed right side always
// (128 x 1024 by 1024 x 1024: 2.8 ms, 1.7; 1024 x 2048 by 2048 x 512: 14.7 ms, 11.7).
bool Sgemm::LayApart() {
  static const bool is_avx2 = dnnl_get_effective_cpu_isa() < dnnl_cpu_isa_avx512_core;
  constexpr int64_t kFewColumns = 512;
  constexpr int64_t kFewRows = 64;
  const bool left_meets = lhs_.transposed == 'T' && MeetInCache(lhs_.lines, lhs_.stride, kPage / 2);
  if (left_meets && (is_avx2 || columns_ <= kFewColumns) && !LayApart(lhs_) && is_avx2) {
    return false;
  }
  const bool right_meets =
      is_avx2 ? rhs_.transposed == 'N' && rows_ >= kFewRows &&
                    MeetInCache(rhs_.lines, rhs_.stride, kPage)
              : rhs_.transposed == 'T' && MeetInCache(rhs_.lines, rhs_.stride, kPage / 2);
  if (right_meets) LayApart(rhs_);
  return true;
}

bool Sgemm::LayApart(Operand& operand) {
  int64_t apart = operand.line + kLinesApart;
  if (MeetInCache(operand.lines, apart, kPage / 2)) apart += kLinesApart;
  if (operand.lines * apart * static_cast<int64_t>(sizeof(float)) > kMostCopiedBytes) return false;
  operand.apart = apart;
  return true;
}

size_t Sgemm::scratch_bytes() const {
  return (lhs_.copied_elements() + rhs_.copied_elements()) * sizeof(float);
}

const float* Sgemm::CopyApart(const Operand& operand, const float* memory, float* scratch) {
  if (operand.apart == 0) return memory;
  CopyLines(memory, operand.stride, scratch, operand.apart, operand.lines, operand.line);
  return scratch;
}

void Sgemm::Run(const void* object, void* lhs, void* rhs, void* addend, void* result,
                void* scratch) {
  const Sgemm& self = *static_cast<const Sgemm*>(object);
  if (self.swaps_) std::swap(lhs, rhs);
  auto* const copies = static_cast<float*>(scratch);
  const float* const left = CopyApart(self.lhs_, static_cast<const float*>(lhs), copies);
  const float* const right =
      CopyApart(self.rhs_, static_cast<const float*>(rhs), copies + self.lhs_.copied_elements());
  auto* const elements = static_cast<float*>(result);
  // BLAS adds to what is in the result.
  if (self.addend_elements_ > 0 && addend != result) {
    CopyElements(static_cast<const float*>(addend), elements, self.addend_elements_);
  }
  const auto stride = [](const Operand& operand) {
    return operand.apart > 0 ? operand.apart : operand.stride;
  };
  const dnnl_status_t status =
      dnnl_sgemm(self.lhs_.transposed, self.rhs_.transposed, self.rows_, self.columns_, self.inner_,
                 self.alpha_, left, stride(self.lhs_), right, stride(self.rhs_), self.beta_,
                 elements, self.result_stride_);
  if (status == dnnl_success) return;
  for (int64_t row = 0; row < self.rows_; ++row) {
    std::fill_n(elements + row * self.result_stride_, self.columns_,
                std::numeric_limits<float>::quiet_NaN());
  }
}

}  // namespace onexpu
