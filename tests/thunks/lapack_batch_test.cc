// Batches of matrices with padding between their columns: the padding stays, and the factors
// multiply to the operand.
#include "pjrt_core/cpu_device/lapack_batch.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu {
namespace {

template <typename T>
constexpr program::ElementType TypeOf() {
  if constexpr (std::is_same_v<T, float>) return program::ElementType::F32;
  if constexpr (std::is_same_v<T, double>) return program::ElementType::F64;
  if constexpr (std::is_same_v<T, std::complex<float>>) return program::ElementType::C64;
  return program::ElementType::C128;
}

template <typename T>
using RealOf = decltype(std::real(T()));

template <typename T>
T Random(std::mt19937& engine) {
  std::normal_distribution<RealOf<T>> normal;
  if constexpr (std::is_same_v<T, RealOf<T>>) {
    return normal(engine);
  } else {
    const RealOf<T> real = normal(engine);
    return {real, normal(engine)};
  }
}

template <typename T>
T Conjugate(T x) {
  if constexpr (std::is_same_v<T, RealOf<T>>) {
    return x;
  } else {
    return std::conj(x);
  }
}

// Elements whose padding has a value of its own.
template <typename T>
class Matrices {
 public:
  Matrices(int64_t count, int64_t rows, int64_t columns, int64_t gap)
      : layout_{rows, columns, rows + gap, (rows + gap) * columns + 2 * gap, count},
        elements_(layout_.distance * count, kPadding) {}

  T& At(int64_t matrix, int64_t row, int64_t column) {
    return elements_[matrix * layout_.distance + column * layout_.leading + row];
  }
  const ColumnMajorBatch& layout() const { return layout_; }
  T* data() { return elements_.data(); }

  void Fill(std::mt19937& engine) {
    ForEach([&](T& element) { element = Random<T>(engine); });
  }
  bool KeepsPadding() {
    std::vector<T> before = elements_;
    ForEach([](T& element) { element = kPadding; });
    const bool keeps = std::all_of(elements_.begin(), elements_.end(),
                                   [](const T& element) { return element == kPadding; });
    elements_ = std::move(before);
    return keeps;
  }
  bool IsNan(int64_t matrix) {
    return Count(matrix, [](T x) { return std::isnan(std::abs(x)); }) ==
           layout_.rows * layout_.columns;
  }
  bool IsFinite(int64_t matrix) {
    return Count(matrix, [](T x) { return std::isfinite(std::abs(x)); }) ==
           layout_.rows * layout_.columns;
  }

 private:
  static constexpr T kPadding = T(77);

  template <typename Visit>
  void ForEach(const Visit& visit) {
    for (int64_t i = 0; i < layout_.count; ++i) {
      for (int64_t column = 0; column < layout_.columns; ++column) {
        for (int64_t row = 0; row < layout_.rows; ++row) visit(At(i, row, column));
      }
    }
  }
  template <typename Predicate>
  int64_t Count(int64_t matrix, const Predicate& predicate) {
    int64_t count = 0;
    for (int64_t column = 0; column < layout_.columns; ++column) {
      for (int64_t row = 0; row < layout_.rows; ++row) count += predicate(At(matrix, row, column));
    }
    return count;
  }

  const ColumnMajorBatch layout_;
  std::vector<T> elements_;
};

void RunBatch(const LapackBatch& batch, void* operand, void* result, void* second = nullptr,
              void* third = nullptr) {
  std::vector<char> scratch(batch.scratch_bytes(), '\xff');
  LapackBatch::Run(&batch, operand, result, second, third, nullptr, scratch.data());
}

template <typename T>
class LapackBatchTest : public testing::Test {
 protected:
  static double Tolerance(int64_t n) { return 50. * n * std::numeric_limits<RealOf<T>>::epsilon(); }
  std::mt19937 engine_{1};
};

using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LapackBatchTest, Types);

struct Size {
  int64_t count, n, gap;
};
constexpr Size kSizes[] = {{1, 1, 0},  {3, 1, 2},  {1, 7, 0},   {5, 7, 3},   {1000, 3, 1},
                           {40, 8, 0}, {2, 33, 5}, {1, 130, 1}, {3, 130, 0}, {1, 300, 1}};

TYPED_TEST(LapackBatchTest, CholeskyFactorsMultiplyToTheOperand) {
  using T = TypeParam;
  for (const auto& [count, n, gap] : kSizes) {
    SCOPED_TRACE(testing::Message() << count << " x " << n << ", gap " << gap);
    Matrices<T> a(count, n, n, gap), factor(count, n, n, gap);
    a.Fill(this->engine_);
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t row = 0; row < n; ++row) a.At(i, row, row) = T(4 * n);
    }
    const int64_t bad = count > 2 ? count / 2 : -1;
    if (bad >= 0) a.At(bad, n - 1, n - 1) = T(-1);
    RunBatch(*MakeCholeskyBatch(TypeOf<T>(), a.layout(), /*lower=*/true), a.data(), factor.data());
    EXPECT_TRUE(factor.KeepsPadding());
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(factor.IsNan(i), i == bad) << i;
      if (i == bad) continue;
      for (int64_t row = 0; row < n; row += 1 + n / 20) {
        for (int64_t column = 0; column <= row; column += 1 + n / 20) {
          T sum{};
          for (int64_t k = 0; k <= column; ++k) {
            sum += factor.At(i, row, k) * Conjugate(factor.At(i, column, k));
          }
          ASSERT_LE(std::abs(sum - a.At(i, row, column)), this->Tolerance(n) * 4 * n);
        }
      }
    }
  }
}

TYPED_TEST(LapackBatchTest, LuFactorsMultiplyToThePermutedOperand) {
  using T = TypeParam;
  for (const auto& [count, n, gap] : kSizes) {
    for (const int64_t columns : {n, n / 2 + 1, n + 5}) {
      SCOPED_TRACE(testing::Message() << count << " x " << n << " x " << columns);
      const int64_t least = std::min(n, columns);
      Matrices<T> a(count, n, columns, gap), lu(count, n, columns, gap);
      a.Fill(this->engine_);
      std::vector<int32_t> exchanges(count * least), permutation(count * n);
      RunBatch(*MakeLuBatch(TypeOf<T>(), a.layout()), a.data(), lu.data(), exchanges.data(),
               permutation.data());
      EXPECT_TRUE(lu.KeepsPadding());
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t row = 0; row < n; row += 1 + n / 20) {
          for (int64_t column = 0; column < columns; column += 1 + n / 20) {
            T sum{};
            for (int64_t k = 0; k <= std::min({row, column, least - 1}); ++k) {
              sum += (k == row ? T(1) : lu.At(i, row, k)) * lu.At(i, k, column);
            }
            const T expected = a.At(i, permutation[i * n + row], column);
            ASSERT_LE(std::abs(sum - expected), 10 * this->Tolerance(n));
          }
        }
      }
    }
  }
}

TYPED_TEST(LapackBatchTest, LuOfNanHasRowsOfTheMatrixAsPivots) {
  using T = TypeParam;
  Matrices<T> a(3, 6, 6, 1);
  a.Fill(this->engine_);
  for (int64_t i = 0; i < 6; ++i) {
    for (int64_t j = 0; j < 6; ++j) a.At(1, i, j) = T(std::numeric_limits<RealOf<T>>::quiet_NaN());
  }
  std::vector<int32_t> exchanges(18), permutation(18);
  RunBatch(*MakeLuBatch(TypeOf<T>(), a.layout()), a.data(), a.data(), exchanges.data(),
           permutation.data());
  for (int64_t i = 0; i < 3; ++i) {
    std::sort(&permutation[6 * i], &permutation[6 * i] + 6);
    for (int32_t j = 0; j < 6; ++j) EXPECT_EQ(permutation[6 * i + j], j);
  }
  EXPECT_TRUE(a.IsFinite(0) && a.IsFinite(2));
}

// Q from QR has orthonormal columns, and Q^H A is R.
TYPED_TEST(LapackBatchTest, QrFactorsMultiplyToTheOperand) {
  using T = TypeParam;
  for (const auto& [count, n, gap] : kSizes) {
    const int64_t rows = n + 2;
    SCOPED_TRACE(testing::Message() << count << " x " << rows << " x " << n);
    Matrices<T> a(count, rows, n, gap), qr(count, rows, n, gap), q(count, rows, n, gap);
    a.Fill(this->engine_);
    std::vector<T> scalars(count * n);
    RunBatch(*MakeQrBatch(TypeOf<T>(), a.layout()), a.data(), qr.data(), scalars.data());
    RunBatch(*MakeHouseholderProductBatch(TypeOf<T>(), a.layout(), n), qr.data(), q.data(),
             scalars.data());
    EXPECT_TRUE(qr.KeepsPadding() && q.KeepsPadding());
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t row = 0; row < rows; row += 1 + n / 20) {
        for (int64_t column = 0; column < n; column += 1 + n / 20) {
          T sum{};
          for (int64_t k = 0; k <= column; ++k) sum += q.At(i, row, k) * qr.At(i, k, column);
          ASSERT_LE(std::abs(sum - a.At(i, row, column)), 10 * this->Tolerance(n));
        }
      }
    }
  }
}

TYPED_TEST(LapackBatchTest, EigenvectorsAreScaledByTheOperand) {
  using T = TypeParam;
  for (const auto& [count, n, gap] : kSizes) {
    SCOPED_TRACE(testing::Message() << count << " x " << n << ", gap " << gap);
    Matrices<T> a(count, n, n, gap), vectors(count, n, n, gap);
    a.Fill(this->engine_);
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t row = 0; row < n; ++row) {
        a.At(i, row, row) = T(std::real(a.At(i, row, row)));
        for (int64_t column = 0; column < row; ++column) {
          a.At(i, column, row) = Conjugate(a.At(i, row, column));
        }
      }
    }
    std::vector<RealOf<T>> values(count * n);
    RunBatch(*MakeEighBatch(TypeOf<T>(), a.layout(), /*lower=*/false), a.data(), vectors.data(),
             values.data());
    EXPECT_TRUE(vectors.KeepsPadding());
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_TRUE(std::is_sorted(&values[i * n], &values[i * n] + n));
      for (int64_t row = 0; row < n; row += 1 + n / 20) {
        for (int64_t column = 0; column < n; column += 1 + n / 20) {
          T sum{};
          for (int64_t k = 0; k < n; ++k) sum += a.At(i, row, k) * vectors.At(i, k, column);
          const T expected = vectors.At(i, row, column) * values[i * n + column];
          ASSERT_LE(std::abs(sum - expected), 10 * this->Tolerance(n));
        }
      }
    }
  }
}

TYPED_TEST(LapackBatchTest, SingularVectorsMultiplyToTheOperand) {
  using T = TypeParam;
  for (const auto& [count, n, gap] : kSizes) {
    const int64_t columns = n + 1;
    SCOPED_TRACE(testing::Message() << count << " x " << n << " x " << columns);
    Matrices<T> a(count, n, columns, gap), left(count, n, n, gap), right(count, n, columns, gap);
    a.Fill(this->engine_);
    Matrices<T> operand(a);
    std::vector<RealOf<T>> values(count * n), alone(count * n);
    RunBatch(*MakeSvdBatch(TypeOf<T>(), a.layout(), SingularVectors{left.layout(), right.layout()}),
             operand.data(), values.data(), left.data(), right.data());
    RunBatch(*MakeSvdBatch(TypeOf<T>(), a.layout(), std::nullopt), operand.data(), alone.data());
    EXPECT_TRUE(left.KeepsPadding() && right.KeepsPadding());
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t k = 0; k < n; ++k) {
        ASSERT_NEAR(values[i * n + k], alone[i * n + k], 10 * this->Tolerance(n));
      }
      for (int64_t row = 0; row < n; row += 1 + n / 20) {
        for (int64_t column = 0; column < columns; column += 1 + n / 20) {
          ASSERT_EQ(operand.At(i, row, column), a.At(i, row, column));
          T sum{};
          for (int64_t k = 0; k < n; ++k) {
            sum += left.At(i, row, k) * values[i * n + k] * right.At(i, k, column);
          }
          ASSERT_LE(std::abs(sum - a.At(i, row, column)), 10 * this->Tolerance(n));
        }
      }
    }
  }
}

TYPED_TEST(LapackBatchTest, SolutionsSatisfyTheEquation) {
  using T = TypeParam;
  for (const auto& [count, n, gap] : kSizes) {
    for (const int64_t sides : {1, 4}) {
      SCOPED_TRACE(testing::Message() << count << " x " << n << " x " << sides);
      Matrices<T> a(count, n, n, gap + 1), b(count, n, sides, gap), x(count, n, sides, gap);
      a.Fill(this->engine_);
      b.Fill(this->engine_);
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t row = 0; row < n; ++row) a.At(i, row, row) = T(2 * n);
      }
      const TriangularEquation equation{.lower = false,
                                        .transposed = true,
                                        .conjugated = true,
                                        .b = b.layout(),
                                        .leading_a = a.layout().leading,
                                        .distance_a = a.layout().distance};
      RunBatch(*MakeTriangularSolveBatch(TypeOf<T>(), equation), b.data(), x.data(), a.data());
      EXPECT_TRUE(x.KeepsPadding());
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t row = 0; row < n; row += 1 + n / 20) {
          for (int64_t side = 0; side < sides; ++side) {
            T sum{};
            for (int64_t k = 0; k <= row; ++k) {
              sum += Conjugate(a.At(i, k, row)) * x.At(i, k, side);
            }
            ASSERT_LE(std::abs(sum - b.At(i, row, side)), 10 * this->Tolerance(n));
          }
        }
      }
    }
  }
}

TEST(LapackBatch, DoesNotExistForOtherTypes) {
  const ColumnMajorBatch matrices{4, 4, 4, 16, 1};
  EXPECT_EQ(MakeCholeskyBatch(program::ElementType::F16, matrices, true), nullptr);
  EXPECT_EQ(MakeLuBatch(program::ElementType::S32, matrices), nullptr);
}

// A row of a batch whose matrices are interleaved: 1 x 3 matrices, element by element.
TEST(LapackBatch, AcceptsInterleavedMatrices) {
  const ColumnMajorBatch matrices{1, 3, 4, 1, 4};
  std::vector<float> operand(12), qr(12, 0.f), scalars(4, -1.f);
  for (int i = 0; i < 12; ++i) operand[i] = static_cast<float>(i + 1);
  RunBatch(*MakeQrBatch(program::ElementType::F32, matrices), operand.data(), qr.data(),
           scalars.data());
  EXPECT_EQ(qr, operand);
  EXPECT_EQ(scalars, std::vector<float>(4, 0.f));
}

}  // namespace
}  // namespace onexpu
