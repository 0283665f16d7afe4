#include "tf_plugin/any_shape/operand_extents.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::TensorShape;

// Kernels count in 32 bits, with a sign.
constexpr int64_t kMaxElements = std::numeric_limits<int32_t>::max() / 2;
// A work-item goes along a row with its neighbours: in shorter ones a part of them would idle.
constexpr int64_t kMinColumns = 16;

// The number of columns that the result has if `shape` is a row or a column of it.
struct Split {
  char letter;
  int64_t columns;
};

std::optional<Split> SplitOf(const TensorShape& shape, const TensorShape& result) {
  const int rank = result.dims(), missing = rank - shape.dims();
  if (missing < 0) return std::nullopt;
  const auto extent = [&](int d) { return d < missing ? 1 : shape.dim_size(d - missing); };
  // The dimensions before `row` are ones, and those from `row` on are the result's; the dimensions
  // before `column` are the result's, and those from there on are ones.
  int row = rank, column = 0;
  while (row > 0 && extent(row - 1) == result.dim_size(row - 1)) --row;
  while (column < rank && extent(column) == result.dim_size(column)) ++column;
  const int64_t elements = shape.num_elements();
  bool is_row = true, is_column = true;
  for (int d = 0; d < row; ++d) is_row = is_row && extent(d) == 1;
  for (int d = column; d < rank; ++d) is_column = is_column && extent(d) == 1;
  if (is_row) return Split{'r', elements};
  if (is_column) return Split{'c', result.num_elements() / elements};
  return std::nullopt;
}

std::optional<OperandExtents> Broadcasting(absl::Span<const TensorShape> shapes) {
  // The first of the largest rank, of those that have the most elements.
  const TensorShape* result = &shapes[0];
  for (const TensorShape& shape : shapes) {
    if (shape.num_elements() < result->num_elements()) continue;
    if (shape.num_elements() > result->num_elements() || shape.dims() > result->dims()) {
      result = &shape;
    }
  }
  OperandExtents extents{.result = *result};
  int64_t columns = 0;
  for (const TensorShape& shape : shapes) {
    if (shape == *result) {
      extents.letters += 'w';
      continue;
    }
    if (shape.num_elements() == 1 && shape.dims() <= result->dims()) {
      extents.letters += 'e';
      continue;
    }
    const std::optional<Split> split = SplitOf(shape, *result);
    if (!split.has_value() || split->columns < kMinColumns) return std::nullopt;
    if (columns != 0 && columns != split->columns) return std::nullopt;
    columns = split->columns;
    extents.letters += split->letter;
  }
  return extents;
}

}  // namespace

std::optional<OperandExtents> OperandExtents::Of(PointwiseOperands operands,
                                                 absl::Span<const TensorShape> shapes) {
  if (shapes.empty()) return std::nullopt;
  for (const TensorShape& shape : shapes) {
    if (shape.num_elements() == 0 || shape.num_elements() > kMaxElements) return std::nullopt;
  }
  switch (operands) {
    case PointwiseOperands::kOfOneShape:
      for (const TensorShape& shape : shapes) {
        if (shape != shapes[0]) return std::nullopt;
      }
      break;
    case PointwiseOperands::kWithScalars:
      for (const TensorShape& shape : shapes.subspan(1)) {
        if (shape != shapes[0] && shape.dims() != 0) return std::nullopt;
      }
      break;
    case PointwiseOperands::kBias:
      if (shapes.size() != 2 || shapes[0].dims() < 2 || shapes[1].dims() != 1 ||
          shapes[1].dim_size(0) != shapes[0].dim_size(shapes[0].dims() - 1) ||
          shapes[1].dim_size(0) == 1 || shapes[1].num_elements() == shapes[0].num_elements()) {
        return std::nullopt;
      }
      break;
    case PointwiseOperands::kBroadcasting:
      break;
  }
  return Broadcasting(shapes);
}

}  // namespace onexpu::tf_plugin
