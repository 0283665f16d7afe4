#include "pjrt_core/cpu_device/blas_gemm.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "oneapi/dnnl/dnnl.h"
#include "oneapi/tbb/blocked_range.h"
#include "oneapi/tbb/parallel_for.h"

// In the library, beside dnnl_sgemm and of its kind, and in none of its headers.
extern "C" dnnl_status_t dnnl_gemm_bf16bf16f32(char transa, char transb, dnnl_dim_t m, dnnl_dim_t n,
                                               dnnl_dim_t k, float alpha, const uint16_t* a,
                                               dnnl_dim_t lda, const uint16_t* b, dnnl_dim_t ldb,
                                               float beta, float* c, dnnl_dim_t ldc);

namespace onexpu {
namespace {

using program::ElementType;

// The last two dimensions of a tensor.
struct Matrix {
  int64_t rows, columns, row_stride, column_stride;
};

std::optional<Matrix> ToMatrix(const program::Tensor& tensor) {
  const uint32_t rank = tensor.dimensions()->size();
  if (rank < 2) return std::nullopt;
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

constexpr int64_t kMaxCopiedBytes = 16 << 20;         // of scratch
constexpr int64_t kLinesApart = 128 / sizeof(float);  // two cache lines: whole vectors stay aligned

// Sums that wait for being rounded: no more than a cache has, in blocks of all rows if they fit,
// for BLAS packs a right side's columns once for each block.
constexpr int64_t kMaxBlockSums = (4 << 20) / sizeof(float);
constexpr int64_t kColumnsAtOnce = 1024;

// A call costs a microsecond or two, as much as this many products.
constexpr int64_t kProductsOfCall = 1 << 18;
constexpr int64_t kMaxSmallMatrices = 32;
// Matrices as large are better multiplied by all threads, one after another.
constexpr int64_t kProductsOfAllThreads = 1 << 24;

// Calls compute(i) for each of `count` matrices: on all threads, unless one is enough for them.
template <typename Compute>
void ForEachMatrix(int64_t count, int64_t products, const Compute& compute) {
  if (count == 1 || products >= kProductsOfAllThreads) {
    for (int64_t i = 0; i < count; ++i) compute(i);
  } else {
    tbb::parallel_for(int64_t{0}, count, compute);
  }
}

// The size of equal parts of `whole` that are no larger than `most`.
int64_t EvenPart(int64_t whole, int64_t most) {
  const int64_t parts = (whole + most - 1) / most;
  return (whole + parts - 1) / parts;
}

int64_t SizeOf(ElementType type) { return type == ElementType::F32 ? 4 : 2; }

bool IsAvx2() {
  static const bool is_avx2 = dnnl_get_effective_cpu_isa() < dnnl_cpu_isa_avx512_core;
  return is_avx2;
}

bool MultipliesBf16() {
  static const bool does = dnnl_get_effective_cpu_isa() >= dnnl_cpu_isa_avx512_core_bf16;
  return does;
}

}  // namespace

std::optional<BlasGemm::Operand> BlasGemm::ToOperand(const program::Tensor& tensor) {
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

bool BlasGemm::SetTypes(const program::GemmThunk& gemm) {
  operand_type_ = gemm.lhs()->element_type();
  result_type_ = gemm.result()->element_type();
  if (gemm.rhs()->element_type() != operand_type_) return false;
  if (operand_type_ == ElementType::F32) return result_type_ == ElementType::F32;
  return operand_type_ == ElementType::BF16 && MultipliesBf16() &&
         (result_type_ == ElementType::F32 || rounds());
}

bool BlasGemm::SetBatch(const program::GemmThunk& gemm) {
  const uint32_t rank = gemm.result()->dimensions()->size();
  if (gemm.lhs()->dimensions()->size() != rank || gemm.rhs()->dimensions()->size() != rank) {
    return false;
  }
  for (uint32_t i = 0; i + 2 < rank; ++i) {
    const int64_t size = gemm.result()->dimensions()->Get(i);
    if (gemm.lhs()->dimensions()->Get(i) != size || gemm.rhs()->dimensions()->Get(i) != size) {
      return false;
    }
    if (size == 1) continue;
    batch_.push_back({size, gemm.lhs()->strides()->Get(i), gemm.rhs()->strides()->Get(i),
                      gemm.result()->strides()->Get(i)});
    matrices_ *= size;
  }
  return matrices_ <= kMaxSmallMatrices || rows_ * columns_ * inner_ >= kProductsOfCall;
}

bool BlasGemm::SetEpilogue(const program::GemmThunk& gemm) {
  alpha_ = gemm.alpha();
  beta_ = gemm.addend() != nullptr ? gemm.beta() : 0.f;
  if (beta_ != 0.f) {
    addend_elements_ = gemm.result()->slice()->size() / SizeOf(result_type_);
  }
  if (!rounds()) {
    return gemm.bias() == nullptr && gemm.activation() == program::Activation::None;
  }
  epilogue_ = {.beta = beta_, .relu = gemm.activation() == program::Activation::Relu};
  if (!epilogue_.relu && gemm.activation() != program::Activation::None) return false;
  if (gemm.bias() == nullptr) return true;
  epilogue_.bias = Bias::kOfColumns;
  const auto& dimensions = *gemm.bias()->dimensions();
  for (uint32_t i = 0; i + 1 < dimensions.size(); ++i) {
    if (dimensions[i] != 1) return false;
  }
  const uint32_t last = dimensions.size() - 1;
  return gemm.bias()->element_type() == ElementType::BF16 && dimensions[last] == columns_ &&
         (columns_ == 1 || gemm.bias()->strides()->Get(last) == 1);
}

void BlasGemm::Swap() {
  swaps_ = true;
  std::swap(lhs_, rhs_);
  for (Operand* operand : {&lhs_, &rhs_}) {
    operand->transposed = operand->transposed == 'N' ? 'T' : 'N';
  }
  std::swap(rows_, columns_);
  for (BatchDimension& dimension : batch_) std::swap(dimension.lhs, dimension.rhs);
  if (epilogue_.bias == Bias::kOfColumns) epilogue_.bias = Bias::kOfRow;
}

std::optional<BlasGemm> BlasGemm::Create(const program::GemmThunk& gemm) {
  const std::optional<Operand> lhs = ToOperand(*gemm.lhs());
  const std::optional<Operand> rhs = ToOperand(*gemm.rhs());
  const std::optional<Operand> result = ToOperand(*gemm.result());
  if (!lhs.has_value() || !rhs.has_value() || !result.has_value()) return std::nullopt;
  const Matrix shape = *ToMatrix(*gemm.result());
  BlasGemm blas;
  blas.lhs_ = *lhs;
  blas.rhs_ = *rhs;
  blas.rows_ = shape.rows;
  blas.columns_ = shape.columns;
  blas.inner_ = ToMatrix(*gemm.lhs())->columns;
  blas.result_stride_ = result->stride;
  if (!blas.SetTypes(gemm) || !blas.SetBatch(gemm) || !blas.SetEpilogue(gemm)) return std::nullopt;
  if (result->transposed == 'T') blas.Swap();
  if (blas.operand_type_ == ElementType::F32 && !blas.LayApart()) return std::nullopt;
  if (blas.rounds()) blas.SetSumsAtOnce();
  return blas;
}

// AVX2's kernel reads a transposed left side where it lies (1024 x 512 by 512 x 256: 3.7 ms, from
// the copy 1.9), and a right side down its columns (256 x 1024 by 1024 x 1024: 8.1 ms, 3.9; with
// few rows that costs less than the copy). That for AVX-512 packs both; the left side's walk shows
// beside few columns (2048 x 512 by 512 x 512: 6.2 ms, 5.5), that of a transposed right side always
// (128 x 1024 by 1024 x 1024: 2.8 ms, 1.7; 1024 x 2048 by 2048 x 512: 14.7 ms, 11.7). A batch's
// matrices are not copied.
bool BlasGemm::LayApart() {
  constexpr int64_t kMaxColumnsToCopyLeft = 512;
  constexpr int64_t kMinRowsToCopyRight = 64;
  const bool left_meets = lhs_.transposed == 'T' && MeetInCache(lhs_.lines, lhs_.stride, kPage / 2);
  const bool right_meets =
      IsAvx2() ? rhs_.transposed == 'N' && rows_ >= kMinRowsToCopyRight &&
                     MeetInCache(rhs_.lines, rhs_.stride, kPage)
               : rhs_.transposed == 'T' && MeetInCache(rhs_.lines, rhs_.stride, kPage / 2);
  if (matrices_ > 1) return !IsAvx2() || (!left_meets && !right_meets);
  if (left_meets && (IsAvx2() || columns_ <= kMaxColumnsToCopyLeft) && !CopyIfSmall(lhs_) &&
      IsAvx2()) {
    return false;
  }
  if (right_meets) CopyIfSmall(rhs_);
  return true;
}

bool BlasGemm::CopyIfSmall(Operand& operand) {
  int64_t apart = operand.line + kLinesApart;
  if (MeetInCache(operand.lines, apart, kPage / 2)) apart += kLinesApart;
  if (operand.lines * apart * static_cast<int64_t>(sizeof(float)) > kMaxCopiedBytes) return false;
  operand.apart = apart;
  return true;
}

void BlasGemm::SetSumsAtOnce() {
  const bool is_one_block = rows_ <= kMaxBlockSums / columns_;
  columns_at_once_ = is_one_block ? columns_ : EvenPart(columns_, kColumnsAtOnce);
  rows_at_once_ = is_one_block ? rows_ : EvenPart(rows_, kMaxBlockSums / columns_at_once_);
  matrices_at_once_ = is_one_block ? std::min(matrices_, kMaxBlockSums / (rows_ * columns_)) : 1;
}

size_t BlasGemm::scratch_bytes() const {
  const int64_t elements = matrices_at_once_ * rows_at_once_ * columns_at_once_ +
                           lhs_.copied_elements() + rhs_.copied_elements();
  return elements * sizeof(float);
}

const float* BlasGemm::CopyApart(const Operand& operand, const float* memory, float* scratch) {
  if (operand.apart == 0) return memory;
  CopyLines(memory, operand.stride, scratch, operand.apart, operand.lines, operand.line);
  return scratch;
}

BlasGemm::Offsets BlasGemm::OffsetsOf(int64_t matrix) const {
  Offsets at;
  for (size_t i = batch_.size(); i-- > 0;) {
    const int64_t index = matrix % batch_[i].size;
    matrix /= batch_[i].size;
    at.lhs += index * batch_[i].lhs;
    at.rhs += index * batch_[i].rhs;
    at.result += index * batch_[i].result;
  }
  return at;
}

void BlasGemm::Multiply(const void* lhs, const void* rhs, int64_t rows, int64_t columns, float beta,
                        float* result, int64_t stride) const {
  const auto stride_of = [](const Operand& operand) {
    return operand.apart > 0 ? operand.apart : operand.stride;
  };
  const auto call = [&](const auto& gemm, const auto* left, const auto* right) {
    return gemm(lhs_.transposed, rhs_.transposed, rows, columns, inner_, alpha_, left,
                stride_of(lhs_), right, stride_of(rhs_), beta, result, stride);
  };
  const dnnl_status_t status =
      operand_type_ == ElementType::F32
          ? call(dnnl_sgemm, static_cast<const float*>(lhs), static_cast<const float*>(rhs))
          : call(dnnl_gemm_bf16bf16f32, static_cast<const uint16_t*>(lhs),
                 static_cast<const uint16_t*>(rhs));
  if (status == dnnl_success) return;
  for (int64_t row = 0; row < rows; ++row) {
    std::fill_n(result + row * stride, columns, std::numeric_limits<float>::quiet_NaN());
  }
}

void BlasGemm::Compute(const Memory& memory) const {
  auto* const elements = reinterpret_cast<float*>(memory.result);
  // BLAS adds to what is in the result.
  if (addend_elements_ > 0 && memory.addend != memory.result) {
    CopyElements(reinterpret_cast<const float*>(memory.addend), elements, addend_elements_);
  }
  const void* lhs = memory.lhs;
  const void* rhs = memory.rhs;
  if (operand_type_ == ElementType::F32) {
    lhs = CopyApart(lhs_, static_cast<const float*>(lhs), memory.scratch);
    rhs = CopyApart(rhs_, static_cast<const float*>(rhs), memory.scratch + lhs_.copied_elements());
  }
  const int64_t size = SizeOf(operand_type_);
  ForEachMatrix(matrices_, rows_ * columns_ * inner_, [&](int64_t matrix) {
    const Offsets at = OffsetsOf(matrix);
    Multiply(static_cast<const char*>(lhs) + at.lhs * size,
             static_cast<const char*>(rhs) + at.rhs * size, rows_, columns_, beta_,
             elements + at.result, result_stride_);
  });
}

void BlasGemm::ComputeRounded(const Memory& memory) const {
  for (int64_t first = 0; first < matrices_; first += matrices_at_once_) {
    const int64_t count = std::min(matrices_at_once_, matrices_ - first);
    ForEachMatrix(count, rows_ * columns_ * inner_, [&](int64_t i) {
      ComputeRoundedMatrix(memory, OffsetsOf(first + i),
                           memory.scratch + i * rows_at_once_ * columns_at_once_);
    });
  }
}

void BlasGemm::ComputeRoundedMatrix(const Memory& memory, const Offsets& at, float* sums) const {
  const int64_t size = SizeOf(operand_type_);
  const int64_t row_of_lhs = lhs_.transposed == 'N' ? lhs_.stride : 1;
  const int64_t column_of_rhs = rhs_.transposed == 'N' ? 1 : rhs_.stride;
  for (int64_t column = 0; column < columns_; column += columns_at_once_) {
    const int64_t columns = std::min(columns_at_once_, columns_ - column);
    for (int64_t row = 0; row < rows_; row += rows_at_once_) {
      const int64_t rows = std::min(rows_at_once_, rows_ - row);
      Multiply(memory.lhs + (at.lhs + row * row_of_lhs) * size,
               memory.rhs + (at.rhs + column * column_of_rhs) * size, rows, columns, /*beta=*/0.f,
               sums, columns);
      RoundBlock(memory, at, sums, row, rows, column, columns);
    }
  }
}

void BlasGemm::RoundBlock(const Memory& memory, const Offsets& at, const float* sums,
                          int64_t first_row, int64_t rows, int64_t first_column,
                          int64_t columns) const {
  const auto* const addend = reinterpret_cast<const uint16_t*>(memory.addend);
  auto* const result = reinterpret_cast<uint16_t*>(memory.result);
  const int64_t part = std::max<int64_t>(1, kElementsOfPart / columns);
  CopyInParts(rows, part, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = first_row + i;
      const int64_t element = at.result + row * result_stride_ + first_column;
      RoundRow(epilogue_, sums + i * columns, addend + element,
               memory.bias + (epilogue_.bias == Bias::kOfRow ? row : first_column), columns,
               result + element);
    }
  });
}

void BlasGemm::Run(const void* object, void* lhs, void* rhs, void* addend, void* bias, void* result,
                   void* scratch) {
  const BlasGemm& self = *static_cast<const BlasGemm*>(object);
  if (self.swaps_) std::swap(lhs, rhs);
  const Memory memory{static_cast<const char*>(lhs),    static_cast<const char*>(rhs),
                      static_cast<const char*>(addend), static_cast<const uint16_t*>(bias),
                      static_cast<char*>(result),       static_cast<float*>(scratch)};
  if (self.rounds()) {
    self.ComputeRounded(memory);
  } else {
    self.Compute(memory);
  }
}

}  // namespace onexpu
