// Products of matrices in every order of rows and columns, against a float64 sum.
#include "pjrt_core/thunks/sgemm.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "oneapi/dnnl/dnnl.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu {
namespace {

// Elements between which lie some that nobody may touch.
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
  const std::optional<Sgemm> sgemm = Sgemm::Create(*gemm);
  ASSERT_TRUE(sgemm.has_value());
  std::vector<float> scratch(sgemm->scratch_bytes() / sizeof(float) + 1, NAN);
  // The addend is in the result's memory, or elsewhere, where it stays.
  const bool in_place = m % 2 == 1;
  if (!in_place) std::fill(result.elements.begin(), result.elements.end(), NAN);
  Sgemm::Run(&*sgemm, lhs.elements.data(), rhs.elements.data(),
             (in_place ? result : addend).elements.data(), result.elements.data(), scratch.data());
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

TEST(SgemmTest, EveryOrderOfEveryMatrix) {
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
TEST(SgemmTest, LinesThatMeetInTheCache) {
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

TEST(SgemmTest, CopiesWhatMeetsInTheCache) {
  const auto scratch_bytes = [](int64_t rows, int64_t inner, int64_t columns, bool rhs_by_rows) {
    program::GemmThunkT thunk;
    thunk.lhs = Matrix(rows, inner, true, 0).Tensor();
    thunk.rhs = Matrix(inner, columns, rhs_by_rows, 0).Tensor();
    thunk.result = Matrix(rows, columns, true, 0).Tensor();
    thunk.alpha = 1;
    return Sgemm::Create(*Gemm(thunk))->scratch_bytes();
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

TEST(SgemmTest, WhatItCannotDo) {
  const auto make = [] {
    program::GemmThunkT thunk;
    thunk.lhs = Matrix(4, 5, true, 0).Tensor();
    thunk.rhs = Matrix(5, 6, true, 0).Tensor();
    thunk.result = Matrix(4, 6, true, 0).Tensor();
    thunk.alpha = 1;
    return thunk;
  };
  EXPECT_TRUE(Sgemm::Create(*Gemm(make())).has_value());
  program::GemmThunkT thunk = make();
  thunk.activation = program::Activation::Relu;
  EXPECT_FALSE(Sgemm::Create(*Gemm(thunk)).has_value());
  thunk = make();
  thunk.bias = Matrix(1, 6, true, 0).Tensor();
  EXPECT_FALSE(Sgemm::Create(*Gemm(thunk)).has_value());
  thunk = make();
  thunk.lhs->element_type = program::ElementType::BF16;
  EXPECT_FALSE(Sgemm::Create(*Gemm(thunk)).has_value());
  thunk = make();
  thunk.lhs->strides = {40, 10, 2};
  EXPECT_FALSE(Sgemm::Create(*Gemm(thunk)).has_value());
  thunk = make();
  for (auto* tensor : {&thunk.lhs, &thunk.rhs, &thunk.result}) (*tensor)->dimensions[0] = 2;
  EXPECT_FALSE(Sgemm::Create(*Gemm(thunk)).has_value());
}

}  // namespace
}  // namespace onexpu
