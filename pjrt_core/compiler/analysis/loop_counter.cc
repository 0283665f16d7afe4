#include "pjrt_core/compiler/analysis/loop_counter.h"

#include <utility>

#include "absl/numeric/int128.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using ::xla::ComparisonDirection;
using ::xla::HloInstruction;
using ::xla::HloOpcode;

// Looks through copies and through elements of tuples.
const HloInstruction& Source(const HloInstruction& instruction) {
  const HloInstruction* source = &instruction;
  while (true) {
    if (source->opcode() == HloOpcode::kCopy) {
      source = source->operand(0);
    } else if (source->opcode() == HloOpcode::kGetTupleElement &&
               source->operand(0)->opcode() == HloOpcode::kTuple) {
      source = source->operand(0)->operand(source->tuple_index());
    } else {
      return *source;
    }
  }
}

std::optional<int64_t> ConstantInteger(const HloInstruction& instruction) {
  const HloInstruction& source = Source(instruction);
  if (source.opcode() != HloOpcode::kConstant ||
      !xla::ShapeUtil::IsEffectiveScalar(source.shape())) {
    return std::nullopt;
  }
  return xla::LiteralUtil::LiteralAsScalarInt64(source.literal());
}

// As XLA does, evaluates the scalar expression that a counter starts with.
std::optional<int64_t> Evaluate(const HloInstruction& instruction) {
  if (const std::optional<int64_t> constant = ConstantInteger(instruction)) return constant;
  xla::HloEvaluator evaluator(/*max_loop_iterations=*/0);
  const absl::StatusOr<xla::Literal> value =
      evaluator.Evaluate(&instruction, {}, /*recursively_evaluate_nonconstant_operands=*/true);
  if (!value.ok()) return std::nullopt;
  return xla::LiteralUtil::LiteralAsScalarInt64(*value);
}

bool IsElement(const HloInstruction& instruction, int64_t tuple_index) {
  const HloInstruction& source = Source(instruction);
  return source.opcode() == HloOpcode::kGetTupleElement && source.tuple_index() == tuple_index &&
         source.operand(0)->opcode() == HloOpcode::kParameter;
}

// The constant that `update` adds to the element.
std::optional<int64_t> Step(const HloInstruction& update, int64_t tuple_index) {
  if (update.opcode() != HloOpcode::kAdd) return std::nullopt;
  for (const int element : {0, 1}) {
    if (IsElement(*update.operand(element), tuple_index)) {
      return ConstantInteger(*update.operand(1 - element));
    }
  }
  return std::nullopt;
}

bool IsOrder(ComparisonDirection direction) {
  return direction != ComparisonDirection::kEq && direction != ComparisonDirection::kNe;
}

}  // namespace

std::optional<LoopCounter> FindLoopCounter(const HloInstruction& loop, int64_t tuple_index) {
  const HloInstruction& init = *loop.operand(0);
  const HloInstruction& body = *loop.while_body()->root_instruction();
  const HloInstruction& condition = *loop.while_condition()->root_instruction();
  if (init.opcode() != HloOpcode::kTuple || body.opcode() != HloOpcode::kTuple ||
      condition.opcode() != HloOpcode::kCompare || !IsOrder(condition.comparison_direction())) {
    return std::nullopt;
  }
  LoopCounter counter{.type = loop.shape().tuple_shapes(tuple_index).element_type(),
                      .direction = condition.comparison_direction()};
  if (!xla::primitive_util::IsIntegralType(counter.type)) return std::nullopt;
  const bool is_first = IsElement(*condition.operand(0), tuple_index);
  if (!is_first) {
    if (!IsElement(*condition.operand(1), tuple_index)) return std::nullopt;
    counter.direction = xla::Comparison(counter.direction, counter.type).Converse().GetDirection();
  }
  const std::optional<int64_t> bound = ConstantInteger(*condition.operand(is_first ? 1 : 0));
  const std::optional<int64_t> step = Step(Source(*body.operand(tuple_index)), tuple_index);
  if (!bound || !step) return std::nullopt;
  const std::optional<int64_t> start = Evaluate(*init.operand(tuple_index));
  if (!start) return std::nullopt;
  counter.init = *start;
  counter.step = *step;
  counter.bound = *bound;
  return counter;
}

std::optional<int64_t> TripCount(const LoopCounter& counter) {
  // Descending loops are ascending ones of the negated counter.
  const bool descends = counter.direction == ComparisonDirection::kGt ||
                        counter.direction == ComparisonDirection::kGe;
  const absl::int128 sign = descends ? -1 : 1;
  const bool includes_bound = counter.direction == ComparisonDirection::kLe ||
                              counter.direction == ComparisonDirection::kGe;
  const absl::int128 init = sign * counter.init;
  const absl::int128 step = sign * counter.step;
  const absl::int128 end = sign * counter.bound + (includes_bound ? 1 : 0);
  if (init >= end) return 0;
  if (step <= 0) return std::nullopt;
  const absl::int128 trips = (end - init + step - 1) / step;

  const int bits = xla::primitive_util::BitWidth(counter.type);
  const bool is_signed = xla::primitive_util::IsSignedIntegralType(counter.type);
  const absl::int128 limit = absl::int128(1) << (is_signed ? bits - 1 : bits);
  const absl::int128 lowest = is_signed ? -limit : absl::int128(0);
  const absl::int128 last = counter.init + counter.step * trips;
  if (last >= limit || last < lowest) return std::nullopt;
  return static_cast<int64_t>(trips);
}

}  // namespace onexpu::compiler
