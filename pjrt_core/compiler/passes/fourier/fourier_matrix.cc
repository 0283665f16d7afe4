#include "pjrt_core/compiler/passes/fourier/fourier_matrix.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "unsupported/Eigen/FFT"
#include "xla/literal.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

constexpr double kTurn = 6.283185307179586476925286766559;

void SetElement(xla::Literal& literal, absl::Span<const int64_t> index, double value) {
  if (literal.shape().element_type() == xla::F64) {
    literal.Set<double>(index, value);
  } else {
    literal.Set<float>(index, static_cast<float>(value));
  }
}

xla::Literal Vector(xla::PrimitiveType type, int64_t count,
                    const std::function<double(int64_t)>& element) {
  xla::Literal vector = xla::Literal::CreateFromShape(xla::ShapeUtil::MakeShape(type, {count}));
  for (int64_t i = 0; i < count; ++i) SetElement(vector, {i}, element(i));
  return vector;
}

xla::Literal Matrix(xla::PrimitiveType type, int64_t rows, int64_t columns,
                    const std::function<double(int64_t, int64_t)>& element) {
  xla::Literal matrix =
      xla::Literal::CreateFromShape(xla::ShapeUtil::MakeShape(type, {rows, columns}));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      SetElement(matrix, {row, column}, element(row, column));
    }
  }
  return matrix;
}

// The remainder keeps the argument small, so that large products lose no digits.
double Wave(int64_t row, int64_t column, int64_t length, Part part) {
  const double angle = kTurn * static_cast<double>(row * column % length) / length;
  return part == Part::kCosine ? std::cos(angle) : std::sin(angle);
}

}  // namespace

xla::Literal FourierMatrix(xla::PrimitiveType type, int64_t rows, int64_t columns, int64_t length,
                           Part part) {
  return Matrix(type, rows, columns,
                [=](int64_t row, int64_t column) { return Wave(row, column, length, part); });
}

xla::Literal RealInverseMatrix(xla::PrimitiveType type, int64_t length, Part part) {
  return Matrix(type, length / 2 + 1, length, [=](int64_t row, int64_t column) {
    // Every frequency but zero and, for even lengths, the highest stands for itself and its
    // conjugate.
    const bool is_single = row == 0 || 2 * row == length;
    const double weight = is_single ? 1 : 2;
    if (part == Part::kCosine) return weight * Wave(row, column, length, part);
    // The imaginary parts of the single ones do not count.
    return is_single ? 0 : -weight * Wave(row, column, length, part);
  });
}

xla::Literal ChirpWave(xla::PrimitiveType type, int64_t length, int64_t count, Part part) {
  return Vector(type, count, [=](int64_t i) { return Wave(i, i, 2 * length, part); });
}

xla::Literal ChirpSpectrum(xla::PrimitiveType type, int64_t length, int64_t padded, Part part) {
  std::vector<std::complex<double>> chirp(padded), spectrum;
  for (int64_t i = 0; i < length; ++i) {
    const std::complex<double> value(Wave(i, i, 2 * length, Part::kCosine),
                                     Wave(i, i, 2 * length, Part::kSine));
    chirp[i] = value;
    chirp[(padded - i) % padded] = value;
  }
  Eigen::FFT<double>().fwd(spectrum, chirp);
  return Vector(type, padded, [&](int64_t i) {
    return (part == Part::kCosine ? spectrum[i].real() : -spectrum[i].imag()) /
           static_cast<double>(padded);
  });
}

}  // namespace onexpu::compiler
