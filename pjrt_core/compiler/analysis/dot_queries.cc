#include "pjrt_core/compiler/analysis/dot_queries.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
using xla::HloInstruction;
using xla::HloOpcode;

bool IsLoopInvariant(const HloInstruction& value) {
  if (value.opcode() == HloOpcode::kTranspose) return IsLoopInvariant(*value.operand(0));
  if (value.opcode() != HloOpcode::kGetTupleElement ||
      value.operand(0)->opcode() != HloOpcode::kParameter) {
    return false;
  }
  const HloInstruction& root = *value.parent()->root_instruction();
  if (root.opcode() != HloOpcode::kTuple || value.tuple_index() >= root.operand_count())
    return false;
  const HloInstruction& next = *root.operand(value.tuple_index());
  return next.opcode() == HloOpcode::kGetTupleElement && next.operand(0) == value.operand(0) &&
         next.tuple_index() == value.tuple_index();
}

int64_t Products(const HloInstruction& dot) {
  int64_t products = xla::ShapeUtil::ElementsIn(dot.shape());
  for (int64_t d : dot.dot_dimension_numbers().lhs_contracting_dimensions())
    products *= dot.operand(0)->shape().dimensions(d);
  return products;
}

bool ContainsDot(const HloInstruction& instruction) {
  if (instruction.opcode() != HloOpcode::kFusion) return instruction.opcode() == HloOpcode::kDot;
  return absl::c_any_of(instruction.fused_instructions(), [](const HloInstruction* fused) {
    return fused->opcode() == HloOpcode::kDot;
  });
}

bool IsBlockedDot(const HloInstruction& instruction) {
  return instruction.opcode() == HloOpcode::kDot &&
         Products(instruction) > kMaxElementLoopProducts && ColumnsOf(instruction).has_value();
}

std::optional<DotColumns> ColumnsOf(const HloInstruction& dot) {
  const xla::DotDimensionNumbers& numbers = dot.dot_dimension_numbers();
  // The result's dimensions: batch, then what is left of lhs, then of rhs.
  const auto last_free = [&](int64_t operand, const auto& batch, const auto& contracting) {
    int64_t d = dot.operand(operand)->shape().dimensions().size() - 1;
    while (d >= 0 && (absl::c_linear_search(batch, d) || absl::c_linear_search(contracting, d)))
      --d;
    return d;
  };
  if (const int64_t d =
          last_free(1, numbers.rhs_batch_dimensions(), numbers.rhs_contracting_dimensions());
      d >= 0) {
    return DotColumns{1, d};
  }
  if (const int64_t d =
          last_free(0, numbers.lhs_batch_dimensions(), numbers.lhs_contracting_dimensions());
      d >= 0) {
    return DotColumns{0, d};
  }
  return std::nullopt;
}

xla::Layout LayoutByColumns(const HloInstruction& dot, const DotColumns& columns) {
  const xla::DotDimensionNumbers& numbers = dot.dot_dimension_numbers();
  const auto& contracting = columns.operand == 1 ? numbers.rhs_contracting_dimensions()
                                                 : numbers.lhs_contracting_dimensions();
  std::vector<int64_t> minor_to_major = {columns.dimension};
  minor_to_major.insert(minor_to_major.end(), contracting.rbegin(), contracting.rend());
  const int64_t rank = dot.operand(columns.operand)->shape().dimensions().size();
  for (int64_t d = rank - 1; d >= 0; --d) {
    if (!absl::c_linear_search(minor_to_major, d)) minor_to_major.push_back(d);
  }
  return xla::LayoutUtil::MakeLayout(minor_to_major);
}

bool LieSideBySide(const HloInstruction& dot, const DotColumns& columns) {
  constexpr int64_t kMaxCopiedElements = 64 << 10;  // elements
  const HloInstruction* operand = dot.operand(columns.operand);
  int64_t dimension = columns.dimension;
  // A transpose becomes a layout.
  while (operand->opcode() == HloOpcode::kTranspose) {
    dimension = operand->dimensions(dimension);
    operand = operand->operand(0);
  }
  return dimension == static_cast<int64_t>(operand->shape().dimensions().size()) - 1 ||
         IsLoopInvariant(*operand) ||
         xla::ShapeUtil::ElementsIn(operand->shape()) <= kMaxCopiedElements;
}

}  // namespace onexpu::compiler
