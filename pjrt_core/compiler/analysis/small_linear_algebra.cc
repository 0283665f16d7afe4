#include "pjrt_core/compiler/analysis/small_linear_algebra.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "pjrt_core/compiler/analysis/call_settings.h"
#include "pjrt_core/compiler/analysis/mkl_call.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;

int64_t Rows(const xla::Shape& shape) { return shape.dimensions(shape.dimensions().size() - 2); }

int64_t Columns(const xla::Shape& shape) { return shape.dimensions().back(); }

// Matrices of a batch with elements.
int64_t Count(const xla::Shape& shape) {
  return xla::ShapeUtil::ElementsIn(shape) / (Rows(shape) * Columns(shape));
}

// Equations of a triangular solve.
int64_t Equations(const HloInstruction& solve) { return Rows(solve.operand(0)->shape()); }

// Right-hand sides of all systems.
int64_t Systems(const HloInstruction& solve) {
  return xla::ShapeUtil::ElementsIn(solve.shape()) / Equations(solve);
}

double Rounds(int64_t items, int64_t work_items) {
  return std::ceil(static_cast<double>(items) / static_cast<double>(work_items));
}

// Steps of a loop, beside those inside of it: a division, addresses.
constexpr double kStepsAround = 8;

}  // namespace

bool HasRegionForm(const HloInstruction& instruction) {
  if (!HasTarget(instruction, kCholeskyTarget) && !HasTarget(instruction, kTriangularSolveTarget) &&
      !HasTarget(instruction, kLuTarget)) {
    return false;
  }
  const xla::PrimitiveType type = instruction.operand(0)->shape().element_type();
  return type == xla::F32 || type == xla::F64;
}

bool SolvesWholeSystems(const HloInstruction& solve, int64_t work_items) {
  const int64_t n = Equations(solve);
  return Rounds(Systems(solve), work_items) * static_cast<double>(n) <=
         2 * Rounds(Systems(solve) * n, work_items) + 16;
}

RegionSteps RegionStepsOf(const HloInstruction& call, int64_t work_items) {
  const xla::Shape& operand = call.operand(0)->shape();
  if (xla::ShapeUtil::IsZeroElementArray(operand)) return {};
  const int64_t rows = Rows(operand), columns = Columns(operand), count = Count(operand);
  if (HasTarget(call, kTriangularSolveTarget)) {
    const double n = static_cast<double>(rows);
    if (SolvesWholeSystems(call, work_items)) {
      const double rounds = Rounds(Systems(call), work_items);
      return {.serial = rounds * n * (n / 2 + kStepsAround)};
    }
    return {.barriers = n, .serial = n * Rounds(Systems(call) * rows, work_items) * kStepsAround};
  }
  const double steps = static_cast<double>(std::min(rows, columns));
  const double row_rounds = Rounds(count * rows, work_items);
  if (HasTarget(call, kCholeskyTarget)) {
    return {.barriers = steps, .serial = steps * row_rounds * (steps / 2 + kStepsAround)};
  }
  const double search = Rounds(count, work_items) * static_cast<double>(rows) / 2;
  const double exchange = Rounds(count * columns, work_items) * 2;
  const double eliminate = row_rounds * (static_cast<double>(columns) / 2 + kStepsAround);
  return {.barriers = 3 * steps, .serial = steps * (search + exchange + eliminate)};
}

}  // namespace onexpu::compiler
