#include "pjrt_core/compiler/passes/fourier_matrix.h"

#include <cmath>
#include <cstdint>
#include <functional>

#include "xla/literal.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

constexpr double kTurn = 6.283185307179586476925286766559;

xla::Literal Matrix(xla::PrimitiveType type, int64_t rows, int64_t columns,
                    const std::function<double(int64_t, int64_t)>& element) {
  xla::Literal matrix =
      xla::Literal::CreateFromShape(xla::ShapeUtil::MakeShape(type, {rows, columns}));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const double value = element(row, column);
      if (type == xla::F64) {
        matrix.Set<double>({row, column}, value);
      } else {
        matrix.Set<float>({row, column}, static_cast<float>(value));
      }
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

}  // namespace onexpu::compiler
