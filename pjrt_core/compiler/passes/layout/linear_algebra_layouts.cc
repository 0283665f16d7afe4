#include "pjrt_core/compiler/passes/layout/linear_algebra_layouts.h"

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/analysis/call_settings.h"
#include "pjrt_core/compiler/analysis/mkl_call.h"
#include "pjrt_core/compiler/passes/layout/layout_copies.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/layout_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;

// The dimensions of more than one element, the outermost first.
std::vector<int64_t> Order(const xla::Shape& shape) {
  std::vector<int64_t> order;
  for (auto it = shape.layout().minor_to_major().rbegin();
       it != shape.layout().minor_to_major().rend(); ++it) {
    if (shape.dimensions(*it) != 1) order.push_back(*it);
  }
  return order;
}

// Matrices one after the other, in the order of the batch, each by rows or by columns.
bool IsBatchOfMatrices(const xla::Shape& shape) {
  const int64_t batch = static_cast<int64_t>(shape.dimensions().size()) - 2;
  int64_t last = -1;
  for (const int64_t dimension : Order(shape)) {
    if (dimension < batch && dimension < last) return false;
    last = dimension;
  }
  return true;
}

// A single row or column is both.
bool HasOrder(const xla::Shape& shape, bool column_major) {
  const int64_t rank = shape.dimensions().size();
  if (shape.dimensions(rank - 1) == 1 || shape.dimensions(rank - 2) == 1) return true;
  return (Order(shape).back() == rank - 2) == column_major;
}

bool HaveSameOrder(const xla::Shape& a, const xla::Shape& b) {
  return (HasOrder(a, true) && HasOrder(b, true)) || (HasOrder(a, false) && HasOrder(b, false));
}

absl::StatusOr<bool> Match(HloInstruction* call, int64_t operand, const xla::Layout& layout) {
  if (xla::LayoutUtil::Equal(call->operand(operand)->shape().layout(), layout)) return false;
  ONEXPU_RETURN_IF_ERROR(CopyOperand(call, operand, layout));
  return true;
}

// The result, and the operand whose memory it takes.
absl::StatusOr<bool> FixInPlace(HloInstruction* call, int64_t operand) {
  bool changed = false;
  if (!IsBatchOfMatrices(call->shape())) {
    ONEXPU_RETURN_IF_ERROR(CopyResult(call, RowMajor(call->shape())));
    changed = true;
  }
  ONEXPU_ASSIGN_OR_RETURN(const bool copied, Match(call, operand, call->shape().layout()));
  return changed || copied;
}

absl::StatusOr<bool> FixTriangularSolve(HloInstruction* call) {
  ONEXPU_ASSIGN_OR_RETURN(bool changed, FixInPlace(call, 1));
  ONEXPU_ASSIGN_OR_RETURN(const TriangularSolveConfig config, TriangularSolveConfigOf(*call));
  const xla::Shape& a = call->operand(0)->shape();
  // With A by rows and B by columns, or the other way round, the library would have to conjugate
  // without transposing.
  const bool needs_same_order = config.transpose == program::Transpose::Adjoint &&
                                xla::primitive_util::IsComplexType(a.element_type());
  if (!IsBatchOfMatrices(a) || (needs_same_order && !HaveSameOrder(a, call->shape()))) {
    ONEXPU_ASSIGN_OR_RETURN(const bool copied, Match(call, 0, call->shape().layout()));
    changed = changed || copied;
  }
  return changed;
}

std::vector<int64_t> BatchOrder(const xla::Shape& shape, int64_t batch) {
  std::vector<int64_t> order;
  for (const int64_t dimension : Order(shape)) {
    if (dimension < batch) order.push_back(dimension);
  }
  return order;
}

// Whether one distance leads from each transform to the next: nothing lies between the batch's
// dimensions.
bool BatchIsTogether(const xla::Shape& shape, int64_t batch) {
  const std::vector<int64_t> order = Order(shape);
  int64_t runs = 0;
  bool in_batch = false;
  for (const int64_t dimension : order) {
    if (dimension < batch && !in_batch) ++runs;
    in_batch = dimension < batch;
  }
  return runs <= 1;
}

absl::StatusOr<bool> FixFft(HloInstruction* call) {
  ONEXPU_ASSIGN_OR_RETURN(const FftConfig config, FftConfigOf(*call));
  const xla::Shape& source = call->operand(0)->shape();
  const int64_t batch = static_cast<int64_t>(source.dimensions().size()) - config.dimensions;
  if (BatchIsTogether(source, batch) && BatchIsTogether(call->shape(), batch) &&
      BatchOrder(source, batch) == BatchOrder(call->shape(), batch)) {
    return false;
  }
  ONEXPU_ASSIGN_OR_RETURN(bool changed, Match(call, 0, RowMajor(source)));
  if (!xla::LayoutUtil::Equal(call->shape().layout(), RowMajor(call->shape()))) {
    ONEXPU_RETURN_IF_ERROR(CopyResult(call, RowMajor(call->shape())));
    changed = true;
  }
  return changed;
}

absl::StatusOr<bool> Fix(HloInstruction* instruction) {
  if (HasTarget(*instruction, kFftTarget)) return FixFft(instruction);
  if (HasTarget(*instruction, kCholeskyTarget)) return FixInPlace(instruction, 0);
  if (HasTarget(*instruction, kTriangularSolveTarget)) return FixTriangularSolve(instruction);
  return false;
}

}  // namespace

absl::StatusOr<bool> LinearAlgebraLayouts::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      ONEXPU_ASSIGN_OR_RETURN(const bool fixed, Fix(instruction));
      changed = changed || fixed;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
