// Products of matrices in every order of rows and columns, against a float64 sum.
#include "pjrt_core/cpu_device/blas_gemm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "oneapi/dnnl/dnnl.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu {
namespace {

// Elements with padding between them that must not be accessed.
struct Matrix {
  Matrix(int64_t rows, int64_t columns, bool by_rows, int64_t gap)
      : rows(rows),
        columns(columns),
        row_stride(by_rows ? columns + gap : 1),
        column_stride(by_rows ? 1 : rows + gap),
        elements(rows * columns + gap * (by_rows ? rows : columns) + 1, NAN) {}

  float& At(int64_t row, int64_t column) {
    return elements[row * row_stride + column * column_stride];
  }
  std::unique_ptr<program::TensorT> Tensor() const {
    auto tensor = std::make_unique<program::TensorT>();
    tensor->slice = std::make_unique<program::Slice>(0, 0, elements.size() * sizeof(float));
    tensor->element_type = program::ElementType::F32;
    tensor->dimensions = {1, rows, columns};
    // Of a dimension of one element: anything.
    tensor->strides = {7, rows == 1 ? 1 : row_stride, columns == 1 ? 1 : column_stride};
    return tensor;
  }

  int64_t rows, columns, row_stride, column_stride;
  std::vector<float> elements;
};

class Gemm {
 public:
  explicit Gemm(const program::GemmThunkT& thunk) {
    builder_.Finish(program::GemmThunk::Pack(builder_, &thunk));
  }
  const program::GemmThunk& operator*() const {
    return *flatbuffers::GetRoot<program::GemmThunk>(builder_.GetBufferPointer());
  }

 private:
  flatbuffers::FlatBufferBuilder builder_;
};

void Check(int64_t m, int64_t k, int64_t n, int orders, float beta, int64_t lhs_gap = 3) {
  SCOPED_TRACE(testing::Message() << m << " x " << k << " x " << n << ", orders " << orders);
  Matrix lhs(m, k, orders & 1, lhs_gap), rhs(k, n, orders & 2, 0), result(m, n, orders & 4, 5);
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  for (Matrix* matrix : {&lhs, &rhs, &result}) {
    // Without an addend nothing of the result's memory may be read.
    if (matrix == &result && beta == 0) continue;
    for (int64_t i = 0; i < matrix->rows; ++i) {
      for (int64_t j = 0; j < matrix->columns; ++j) matrix->At(i, j) = normal(engine);
    }
  }
  Matrix addend = result;
  program::GemmThunkT thunk;
  thunk.lhs = lhs.Tensor();
  thunk.rhs = rhs.Tensor();
  thunk.result = result.Tensor();
  thunk.alpha = 0.5f;
  thunk.beta = beta;
  if (beta != 0) thunk.addend = result.Tensor();
  const Gemm gemm(thunk);
  const std::optional<BlasGemm> blas = BlasGemm::Create(*gemm);
  ASSERT_TRUE(blas.has_value());
  std::vector<float> scratch(blas->scratch_bytes() / sizeof(float) + 1, NAN);
  // The addend is in the result's memory, or elsewhere, where it stays.
  const bool in_place = m % 2 == 1;
  if (!in_place) std::fill(result.elements.begin(), result.elements.end(), NAN);
  BlasGemm::Run(&*blas, lhs.elements.data(), rhs.elements.data(),
                (in_place ? result : addend).elements.data(), nullptr, result.elements.data(),
                scratch.data());
  EXPECT_TRUE(std::isnan(scratch.back()));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = beta == 0 ? 0 : double{beta} * addend.At(i, j);
      for (int64_t p = 0; p < k; ++p) sum += 0.5 * lhs.At(i, p) * rhs.At(p, j);
      // At most one rounding for each product, of terms below five.
      ASSERT_NEAR(result.At(i, j), sum, 6e-8 * 12 * (k + 1)) << i << ", " << j;
      result.At(i, j) = NAN;
    }
  }
  for (const float element : result.elements) ASSERT_TRUE(std::isnan(element));
}

TEST(BlasGemmTest, EveryOrderOfEveryMatrix) {
  for (int orders = 0; orders < 8; ++orders) {
    for (const float beta : {0.f, 1.f, -2.f}) {
      Check(33, 17, 50, orders, beta);
      Check(1, 40, 9, orders, beta);
      Check(50, 33, 700, orders, beta);
      Check(21, 40, 1, orders, beta);
      Check(5, 1, 7, orders, beta);
      Check(1, 1, 1, orders, beta);
    }
  }
}

// Lines a page or half of one apart, which are copied; a gap makes the stride another than the
// line.
TEST(BlasGemmTest, LinesThatMeetInTheCache) {
  for (int orders = 0; orders < 8; ++orders) {
    for (const float beta : {0.f, 1.f}) {
      Check(5, 512, 33, orders, beta, /*lhs_gap=*/0);
      Check(509, 19, 1024, orders, beta, /*lhs_gap=*/3);
      Check(1024, 9, 512, orders, beta, /*lhs_gap=*/0);
      Check(512, 8, 3, orders, beta, /*lhs_gap=*/512);
      Check(480, 9, 3, orders, beta, /*lhs_gap=*/32);
    }
  }
}

TEST(BlasGemmTest, CopiesWhatMeetsInTheCache) {
  const auto scratch_bytes = [](int64_t rows, int64_t inner, int64_t columns, bool rhs_by_rows) {
    program::GemmThunkT thunk;
    thunk.lhs = Matrix(rows, inner, true, 0).Tensor();
    thunk.rhs = Matrix(inner, columns, rhs_by_rows, 0).Tensor();
    thunk.result = Matrix(rows, columns, true, 0).Tensor();
    thunk.alpha = 1;
    return BlasGemm::Create(*Gemm(thunk))->scratch_bytes();
  };
  const bool is_avx2 = dnnl_get_effective_cpu_isa() < dnnl_cpu_isa_avx512_core;
  const size_t of_copy = 40 * (1024 + 32) * sizeof(float);
  EXPECT_EQ(scratch_bytes(16, 1024, 40, true), 0);
  EXPECT_EQ(scratch_bytes(16, 1040, 40, false), 0);
  EXPECT_EQ(scratch_bytes(16, 1024, 40, false), is_avx2 ? 0 : of_copy);
  EXPECT_EQ(scratch_bytes(64, 40, 1024, true), is_avx2 ? of_copy : 0);
  EXPECT_EQ(scratch_bytes(63, 40, 1024, true), 0);
  EXPECT_EQ(scratch_bytes(64, 40, 1040, true), 0);
  // Too large to copy.
  EXPECT_EQ(scratch_bytes(64, 40, int64_t{1} << 17, true), 0);
  EXPECT_EQ(scratch_bytes(16, int64_t{1} << 17, 40, false), 0);
}

TEST(BlasGemmTest, WhatItCannotDo) {
  const auto make = [] {
    program::GemmThunkT thunk;
    thunk.lhs = Matrix(4, 5, true, 0).Tensor();
    thunk.rhs = Matrix(5, 6, true, 0).Tensor();
    thunk.result = Matrix(4, 6, true, 0).Tensor();
    thunk.alpha = 1;
    return thunk;
  };
  EXPECT_TRUE(BlasGemm::Create(*Gemm(make())).has_value());
  program::GemmThunkT thunk = make();
  thunk.activation = program::Activation::Relu;
  EXPECT_FALSE(BlasGemm::Create(*Gemm(thunk)).has_value());
  thunk = make();
  thunk.bias = Matrix(1, 6, true, 0).Tensor();
  EXPECT_FALSE(BlasGemm::Create(*Gemm(thunk)).has_value());
  thunk = make();
  thunk.lhs->element_type = program::ElementType::BF16;
  EXPECT_FALSE(BlasGemm::Create(*Gemm(thunk)).has_value());
  thunk = make();
  thunk.lhs->strides = {40, 10, 2};
  EXPECT_FALSE(BlasGemm::Create(*Gemm(thunk)).has_value());
  thunk = make();
  thunk.result->element_type = program::ElementType::BF16;
  EXPECT_FALSE(BlasGemm::Create(*Gemm(thunk)).has_value());
}

bool MultipliesBf16() { return dnnl_get_effective_cpu_isa() >= dnnl_cpu_isa_avx512_core_bf16; }

float ToFloat(float value) { return value; }
float ToFloat(uint16_t bf16) { return std::bit_cast<float>(uint32_t{bf16} << 16); }
uint16_t ToBf16(float value) { return std::bit_cast<uint32_t>(value) >> 16; }

template <typename T>
T FromFloat(float value) {
  if constexpr (std::is_same_v<T, float>) return value;
  return ToBf16(value);
}

template <typename T>
std::unique_ptr<program::TensorT> Tensor(const std::vector<T>& elements,
                                         std::vector<int64_t> dimensions,
                                         std::vector<int64_t> strides) {
  auto tensor = std::make_unique<program::TensorT>();
  tensor->slice = std::make_unique<program::Slice>(0, 0, elements.size() * sizeof(T));
  tensor->element_type =
      std::is_same_v<T, float> ? program::ElementType::F32 : program::ElementType::BF16;
  tensor->dimensions = std::move(dimensions);
  tensor->strides = std::move(strides);
  return tensor;
}

// Matrices whose rows or columns lie together, one after another or interleaved: a line of each in
// turn, as attention's heads lie. NaN at first.
template <typename T>
struct Batch {
  Batch(int64_t batch, int64_t rows, int64_t columns, bool by_rows, bool interleaved)
      : batch(batch), rows(rows), columns(columns) {
    const int64_t lines = by_rows ? rows : columns, line = by_rows ? columns : rows;
    const int64_t stride = interleaved ? batch * line : line;
    batch_stride = interleaved ? line : lines * line;
    row_stride = by_rows ? stride : 1;
    column_stride = by_rows ? 1 : stride;
    elements.assign(batch * rows * columns, FromFloat<T>(NAN));
  }

  float At(int64_t matrix, int64_t row, int64_t column) const {
    return ToFloat(elements[matrix * batch_stride + row * row_stride + column * column_stride]);
  }
  void Fill(std::mt19937& engine) {
    std::normal_distribution<float> normal;
    for (T& element : elements) element = FromFloat<T>(normal(engine));
  }
  std::unique_ptr<program::TensorT> ToTensor() const {
    return Tensor(elements, {batch, rows, columns}, {batch_stride, row_stride, column_stride});
  }

  int64_t batch, rows, columns, batch_stride, row_stride, column_stride;
  std::vector<T> elements;
};

struct BatchCase {
  int64_t batch, m, k, n;
  int orders;  // a bit each: lhs, rhs, result by rows; interleaved; one lhs for all
  float beta = 0;
  bool has_bias = false, relu = false;
};

template <typename Factor, typename Result>
void Check(const BatchCase& c) {
  SCOPED_TRACE(testing::Message() << c.batch << " of " << c.m << " x " << c.k << " x " << c.n
                                  << ", orders " << c.orders << ", beta " << c.beta);
  const bool interleaved = c.orders & 8, is_one_lhs = c.orders & 16;
  Batch<Factor> lhs(is_one_lhs ? 1 : c.batch, c.m, c.k, c.orders & 1, interleaved);
  Batch<Factor> rhs(c.batch, c.k, c.n, c.orders & 2, interleaved);
  Batch<Result> result(c.batch, c.m, c.n, c.orders & 4, interleaved);
  std::mt19937 engine(1);
  lhs.Fill(engine);
  rhs.Fill(engine);
  if (is_one_lhs) {
    lhs.batch = c.batch;
    lhs.batch_stride = 0;
  }
  if (c.beta != 0) result.Fill(engine);
  // In the result's memory, or elsewhere, where it stays.
  const Batch<Result> addend = result;
  const bool in_place = c.m % 2 == 1;
  if (!in_place) std::fill(result.elements.begin(), result.elements.end(), FromFloat<Result>(NAN));
  std::vector<uint16_t> bias(c.n);
  for (uint16_t& element : bias) element = ToBf16(std::normal_distribution<float>()(engine));

  program::GemmThunkT thunk;
  thunk.lhs = lhs.ToTensor();
  thunk.rhs = rhs.ToTensor();
  thunk.result = result.ToTensor();
  thunk.alpha = 0.5f;
  thunk.beta = c.beta;
  if (c.beta != 0) thunk.addend = addend.ToTensor();
  if (c.has_bias) thunk.bias = Tensor(bias, {1, 1, c.n}, {c.n, c.n, 1});
  if (c.relu) thunk.activation = program::Activation::Relu;
  const Gemm gemm(thunk);
  const std::optional<BlasGemm> blas = BlasGemm::Create(*gemm);
  if (std::is_same_v<Factor, uint16_t> && !MultipliesBf16()) {
    EXPECT_FALSE(blas.has_value()) << "is left to a primitive there";
    return;
  }
  ASSERT_TRUE(blas.has_value());
  std::vector<float> scratch(blas->scratch_bytes() / sizeof(float) + 1, NAN);
  std::vector<Result> added = in_place ? std::vector<Result>() : addend.elements;
  BlasGemm::Run(&*blas, lhs.elements.data(), rhs.elements.data(),
                in_place ? result.elements.data() : added.data(), bias.data(),
                result.elements.data(), scratch.data());
  EXPECT_TRUE(std::isnan(scratch.back()));
  // Half a unit of bf16's eight bits, and the f32 sum's roundings.
  const double relative = std::is_same_v<Result, float> ? 0 : 1. / 256;
  for (int64_t b = 0; b < c.batch; ++b) {
    for (int64_t i = 0; i < c.m; ++i) {
      for (int64_t j = 0; j < c.n; ++j) {
        double sum = c.beta == 0 ? 0 : double{c.beta} * addend.At(b, i, j);
        for (int64_t p = 0; p < c.k; ++p) sum += 0.5 * lhs.At(b, i, p) * rhs.At(b, p, j);
        if (c.has_bias) sum += ToFloat(bias[j]);
        if (c.relu) sum = std::max(sum, 0.0);
        ASSERT_NEAR(result.At(b, i, j), sum, std::abs(sum) * relative + 6e-8 * 12 * (c.k + 1))
            << b << ", " << i << ", " << j;
      }
    }
  }
}

TEST(BlasGemmTest, BatchesInEveryOrder) {
  for (int orders = 0; orders < 32; ++orders) {
    Check<float, float>({3, 33, 18, 50, orders});
    Check<float, float>({4, 20, 9, 7, orders & ~8, /*beta=*/2.f});
    Check<float, float>({4, 21, 9, 7, orders, /*beta=*/2.f});
  }
}

TEST(BlasGemmTest, Bf16InEveryOrder) {
  for (int orders = 0; orders < 32; ++orders) {
    for (const int64_t batch : {1, 3}) {
      Check<uint16_t, uint16_t>({batch, 33, 18, 50, orders});
      Check<uint16_t, uint16_t>({batch, 7, 1, 5, orders, /*beta=*/1.f});
      Check<uint16_t, uint16_t>(
          {batch, 20, 64, 33, orders, /*beta=*/-2.f, /*has_bias=*/true, /*relu=*/true});
      Check<uint16_t, uint16_t>({batch, 2, 9, 40, orders, /*beta=*/0.f, /*has_bias=*/true});
      Check<uint16_t, uint16_t>({batch, 12, 9, 1, orders, /*beta=*/1.f, /*has_bias=*/true});
      Check<uint16_t, float>({batch, 13, 9, 21, orders, /*beta=*/1.f});
    }
  }
}

// More sums than wait at once: rows, columns and matrices, in several parts.
TEST(BlasGemmTest, Bf16InParts) {
  for (int orders = 0; orders < 8; ++orders) {
    Check<uint16_t, uint16_t>({1, 700, 3, 2000, orders, /*beta=*/1.f, /*has_bias=*/true});
    Check<uint16_t, uint16_t>({1, 1100, 2, 1025, orders, /*beta=*/1.f, /*has_bias=*/true});
    Check<uint16_t, uint16_t>({5, 600, 2, 700, orders, /*beta=*/0.f, /*has_bias=*/true});
  }
}

TEST(BlasGemmTest, ManySmallMatricesAreAPrimitive) {
  const auto create = [](int64_t batch, int64_t size) {
    const Batch<float> matrices(batch, size, size, true, false);
    program::GemmThunkT thunk;
    for (auto* tensor : {&thunk.lhs, &thunk.rhs, &thunk.result}) *tensor = matrices.ToTensor();
    thunk.alpha = 1;
    return BlasGemm::Create(*Gemm(thunk)).has_value();
  };
  EXPECT_TRUE(create(32, 8));
  EXPECT_FALSE(create(33, 8));
  EXPECT_TRUE(create(33, 64));
}

TEST(Bf16RowsTest, RoundsToNearestEvenAndKeepsWhatIsNoNumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<std::pair<float, uint16_t>> cases = {
      {0.f, 0},
      {-0.f, 0x8000},
      {1.f, 0x3f80},
      {std::bit_cast<float>(0x3f808000u), 0x3f80},  // halfway, to even
      {std::bit_cast<float>(0x3f818000u), 0x3f82},
      {std::bit_cast<float>(0x3f808001u), 0x3f81},
      {std::bit_cast<float>(0x7f7fffffu), 0x7f80},  // beyond the largest
      {std::bit_cast<float>(0x00018000u), 0x0002},  // subnormal
      {infinity, 0x7f80},
      {-infinity, 0xff80},
      {std::bit_cast<float>(0x7f800001u), 0x7fc0},  // NaN whose upper bits are infinity's
      {std::bit_cast<float>(0xffffffffu), 0xffff},
  };
  for (size_t count : {size_t{1}, cases.size(), size_t{100}}) {  // scalar and vectors
    std::vector<float> sums(count);
    for (size_t i = 0; i < count; ++i) sums[i] = cases[i % cases.size()].first;
    std::vector<uint16_t> result(count + 1, 0xaaaa);
    RoundRow({}, sums.data(), nullptr, nullptr, count, result.data());
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(result[i], cases[i % cases.size()].second) << i;
    EXPECT_EQ(result.back(), 0xaaaa);
    RoundRow({.relu = true}, sums.data(), nullptr, nullptr, count, result.data());
    for (size_t i = 0; i < count; ++i) {
      const auto& [sum, bits] = cases[i % cases.size()];
      EXPECT_EQ(result[i], sum < 0 ? 0 : bits) << i;
    }
  }
}

TEST(Bf16RowsTest, AddsToWhatIsThere) {
  std::vector<uint16_t> row(67, ToBf16(3.f)), bias(67);
  const std::vector<float> sums(67, 1.f);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = ToBf16(i);
  RoundRow({.beta = 2.f, .bias = Bias::kOfColumns}, sums.data(), row.data(), bias.data(),
           row.size(), row.data());
  for (size_t i = 0; i < row.size(); ++i) EXPECT_EQ(ToFloat(row[i]), 7.f + i);
  const uint16_t one = ToBf16(-8.f);
  RoundRow({.bias = Bias::kOfRow}, sums.data(), nullptr, &one, row.size(), row.data());
  for (const uint16_t element : row) EXPECT_EQ(ToFloat(element), -7.f);
}

}  // namespace
}  // namespace onexpu
