#include "pjrt_core/compiler/analysis/combine_order.h"

#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using xla::HloComputation;
using xla::HloInstruction;
using xla::HloOpcode;

xla::Comparison ComparisonOf(const HloInstruction& compare) {
  const auto& instruction = *xla::Cast<xla::HloCompareInstruction>(&compare);
  return xla::Comparison(instruction.direction(), compare.operand(0)->shape().element_type(),
                         instruction.order());
}

// ---- Symmetric reducers ----

bool IsCommutative(const HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case HloOpcode::kAdd:
    case HloOpcode::kMultiply:
    case HloOpcode::kMaximum:
    case HloOpcode::kMinimum:
    case HloOpcode::kAnd:
    case HloOpcode::kOr:
    case HloOpcode::kXor:
      return true;
    case HloOpcode::kCompare:
      return instruction.comparison_direction() == xla::ComparisonDirection::kEq ||
             instruction.comparison_direction() == xla::ComparisonDirection::kNe;
    default:
      return false;
  }
}

// Compares a reducer with itself when its left and right arguments are exchanged.
class Mirror {
 public:
  explicit Mirror(int64_t arrays) : arrays_(arrays) {}

  // Whether `b` computes, of exchanged arguments, what `a` computes.
  bool Matches(const HloInstruction& a, const HloInstruction& b) {
    if (const auto known = known_.find({&a, &b}); known != known_.end()) return known->second;
    const bool matches = Compare(a, b);
    known_.emplace(std::make_pair(&a, &b), matches);
    return matches;
  }

 private:
  bool Compare(const HloInstruction& a, const HloInstruction& b) {
    if (a.opcode() != b.opcode() || a.operand_count() != b.operand_count()) return false;
    if (a.opcode() == HloOpcode::kParameter) {
      return (a.parameter_number() + arrays_) % (2 * arrays_) == b.parameter_number();
    }
    if (a.opcode() == HloOpcode::kCompare &&
        ComparisonOf(a).GetDirection() == ComparisonOf(b).Converse().GetDirection() &&
        ComparisonOf(a).GetOrder() == ComparisonOf(b).GetOrder() && Crosswise(a, b)) {
      return true;
    }
    const auto any = [](const auto*, const auto*) { return true; };
    if (!a.called_computations().empty() || !a.Identical(b, any, any)) return false;
    bool in_order = true;
    for (int64_t i = 0; in_order && i < a.operand_count(); ++i) {
      in_order = Matches(*a.operand(i), *b.operand(i));
    }
    return in_order || (IsCommutative(a) && Crosswise(a, b));
  }

  bool Crosswise(const HloInstruction& a, const HloInstruction& b) {
    return Matches(*a.operand(0), *b.operand(1)) && Matches(*a.operand(1), *b.operand(0));
  }

  const int64_t arrays_;
  absl::flat_hash_map<std::pair<const HloInstruction*, const HloInstruction*>, bool> known_;
};

// ---- Reducers that select ----

// How the values of two elements compare.
enum class Relation { kLess, kEqual, kGreater, kLeftNan, kRightNan, kBothNan };

// What an instruction of such a reducer is: one of the arguments, or a truth value.
enum class Token { kLeftValue, kRightValue, kLeftPosition, kRightPosition, kFalse, kTrue };

// Evaluates a reducer of a value and a position on arguments of which only the relation is known:
// the values have `relation`, and the left position is the smaller one. A reducer that does nothing
// but compare and select sees no more of them, so the relations are all cases that there are.
class Selection {
 public:
  Selection(int64_t position, Relation relation) : position_(position), relation_(relation) {}

  std::optional<Token> Evaluate(const HloInstruction& instruction) {
    if (const auto known = known_.find(&instruction); known != known_.end()) return known->second;
    const std::optional<Token> token = Compute(instruction);
    known_.emplace(&instruction, token);
    return token;
  }

 private:
  static bool IsValue(Token token) {
    return token == Token::kLeftValue || token == Token::kRightValue;
  }
  static bool IsPosition(Token token) {
    return token == Token::kLeftPosition || token == Token::kRightPosition;
  }
  static Token Truth(bool value) { return value ? Token::kTrue : Token::kFalse; }

  bool IsNan(Token value) const {
    return relation_ == Relation::kBothNan ||
           relation_ == (value == Token::kLeftValue ? Relation::kLeftNan : Relation::kRightNan);
  }

  // -1, 0 or 1; nothing if a NaN is among them.
  std::optional<int> Order(Token a, Token b) const {
    if (IsValue(a) && (IsNan(a) || IsNan(b))) return std::nullopt;
    if (a == b) return 0;
    const bool is_forward = a == Token::kLeftValue || a == Token::kLeftPosition;
    int order = -1;
    if (IsValue(a)) {
      order = relation_ == Relation::kLess ? -1 : relation_ == Relation::kEqual ? 0 : 1;
    }
    return is_forward ? order : -order;
  }

  std::optional<Token> Compare(const HloInstruction& compare, Token a, Token b) const {
    if (IsValue(a) != IsValue(b) || IsPosition(a) != IsPosition(b)) return std::nullopt;
    if (!IsValue(a) && !IsPosition(a)) return std::nullopt;
    const xla::Comparison comparison = ComparisonOf(compare);
    // A total order of floats tells NaNs apart, and zeros.
    if (comparison.IsTotalOrder() && comparison.IsFloatingPointPrimitiveType()) return std::nullopt;
    const std::optional<int> order = Order(a, b);
    using Direction = xla::ComparisonDirection;
    const Direction direction = comparison.GetDirection();
    if (!order.has_value()) return Truth(direction == Direction::kNe);
    switch (direction) {
      case Direction::kEq:
        return Truth(*order == 0);
      case Direction::kNe:
        return Truth(*order != 0);
      case Direction::kGe:
        return Truth(*order >= 0);
      case Direction::kGt:
        return Truth(*order > 0);
      case Direction::kLe:
        return Truth(*order <= 0);
      case Direction::kLt:
        return Truth(*order < 0);
    }
    return std::nullopt;
  }

  // The maximum or minimum, which is NaN if an argument is.
  std::optional<Token> Extremum(Token a, Token b, bool is_maximum) const {
    if (IsValue(a) != IsValue(b) || IsPosition(a) != IsPosition(b)) return std::nullopt;
    if (!IsValue(a) && !IsPosition(a)) return std::nullopt;
    const std::optional<int> order = Order(a, b);
    if (!order.has_value()) return IsNan(a) ? a : b;
    return (*order >= 0) == is_maximum ? a : b;
  }

  std::optional<Token> Logical(HloOpcode opcode, Token a, Token b) const {
    if (IsValue(a) || IsPosition(a) || IsValue(b) || IsPosition(b)) return std::nullopt;
    const bool left = a == Token::kTrue, right = b == Token::kTrue;
    if (opcode == HloOpcode::kAnd) return Truth(left && right);
    return Truth(opcode == HloOpcode::kOr ? left || right : left != right);
  }

  // The type is wider, so that all comparisons stay what they are.
  static bool KeepsOrder(const HloInstruction& convert) {
    const xla::PrimitiveType from = convert.operand(0)->shape().element_type();
    return xla::primitive_util::CastPreservesValues(from, convert.shape().element_type());
  }

  std::optional<Token> Compute(const HloInstruction& instruction) {
    if (instruction.opcode() == HloOpcode::kParameter) {
      const int64_t number = instruction.parameter_number();
      const bool is_left = number < 2;
      if (number % 2 == position_) {
        return is_left ? Token::kLeftPosition : Token::kRightPosition;
      }
      return is_left ? Token::kLeftValue : Token::kRightValue;
    }
    if (instruction.opcode() == HloOpcode::kTuple) return std::nullopt;
    std::vector<Token> operands;
    for (const HloInstruction* operand : instruction.operands()) {
      const std::optional<Token> token = Evaluate(*operand);
      if (!token.has_value()) return std::nullopt;
      operands.push_back(*token);
    }
    switch (instruction.opcode()) {
      case HloOpcode::kCopy:
        return operands[0];
      case HloOpcode::kConvert:
        return KeepsOrder(instruction) ? std::optional<Token>(operands[0]) : std::nullopt;
      case HloOpcode::kCompare:
        return Compare(instruction, operands[0], operands[1]);
      case HloOpcode::kMaximum:
      case HloOpcode::kMinimum:
        return Extremum(operands[0], operands[1], instruction.opcode() == HloOpcode::kMaximum);
      case HloOpcode::kAnd:
      case HloOpcode::kOr:
      case HloOpcode::kXor:
        return Logical(instruction.opcode(), operands[0], operands[1]);
      case HloOpcode::kNot:
        return Logical(HloOpcode::kXor, operands[0], Token::kTrue);
      case HloOpcode::kSelect:
        if (operands[0] == Token::kTrue) return operands[1];
        if (operands[0] == Token::kFalse) return operands[2];
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

  const int64_t position_;
  const Relation relation_;
  absl::flat_hash_map<const HloInstruction*, std::optional<Token>> known_;
};

// Whether a reducer of two arrays always selects an element, its value with its position. Values
// that are equal, or both NaN, stand for each other.
bool SelectsAnElement(const HloComputation& reducer, int64_t position) {
  const HloInstruction& root = *reducer.root_instruction();
  if (root.opcode() != HloOpcode::kTuple || root.operand_count() != 2) return false;
  const HloInstruction& value = *root.operand(1 - position);
  for (const Relation relation : {Relation::kLess, Relation::kEqual, Relation::kGreater,
                                  Relation::kLeftNan, Relation::kRightNan, Relation::kBothNan}) {
    if (relation >= Relation::kLeftNan &&
        !xla::primitive_util::IsFloatingPointType(value.shape().element_type())) {
      break;
    }
    Selection selection(position, relation);
    const std::optional<Token> selected = selection.Evaluate(value);
    const std::optional<Token> at = selection.Evaluate(*root.operand(position));
    if (selected != Token::kLeftValue && selected != Token::kRightValue) return false;
    if (at != Token::kLeftPosition && at != Token::kRightPosition) return false;
    const bool agree = (selected == Token::kLeftValue) == (at == Token::kLeftPosition);
    if (!agree && relation != Relation::kEqual && relation != Relation::kBothNan) return false;
  }
  return true;
}

// The dimension of the operand that is `dimension` of a reshape that only adds or removes
// dimensions of one element; nothing for other reshapes.
std::optional<int64_t> DimensionBefore(const xla::Shape& from, const xla::Shape& to,
                                       int64_t dimension) {
  std::vector<int64_t> before, after;
  for (int64_t d = 0; d < static_cast<int64_t>(from.dimensions().size()); ++d) {
    if (from.dimensions(d) != 1) before.push_back(d);
  }
  for (int64_t d = 0; d < static_cast<int64_t>(to.dimensions().size()); ++d) {
    if (to.dimensions(d) != 1) after.push_back(d);
  }
  if (before.size() != after.size()) return std::nullopt;
  std::optional<int64_t> found;
  for (size_t i = 0; i < after.size(); ++i) {
    if (from.dimensions(before[i]) != to.dimensions(after[i])) return std::nullopt;
    if (after[i] == dimension) found = before[i];
  }
  return found;
}

// Whether the elements of `array` count along `dimension`: 0, 1, 2, ... in every row.
bool CountsAlong(const HloInstruction& array, int64_t dimension) {
  const HloInstruction* current = &array;
  while (true) {
    const xla::Shape& shape = current->shape();
    switch (current->opcode()) {
      case HloOpcode::kIota: {
        const int64_t last = shape.dimensions(dimension) - 1;
        const xla::PrimitiveType type = shape.element_type();
        // Narrower integers would wrap around.
        const int64_t bits = xla::primitive_util::IsIntegralType(type)
                                 ? xla::primitive_util::BitWidth(type) -
                                       (xla::primitive_util::IsSignedIntegralType(type) ? 1 : 0)
                                 : 0;
        const bool fits = bits >= 63 || last < (int64_t{1} << bits);
        return fits && xla::Cast<xla::HloIotaInstruction>(current)->iota_dimension() == dimension;
      }
      case HloOpcode::kBroadcast: {
        const absl::Span<const int64_t> dimensions = current->dimensions();
        const int64_t before = absl::c_find(dimensions, dimension) - dimensions.begin();
        if (before == static_cast<int64_t>(dimensions.size())) return false;
        if (current->operand(0)->shape().dimensions(before) != shape.dimensions(dimension)) {
          return false;
        }
        dimension = before;
        break;
      }
      case HloOpcode::kTranspose:
        dimension = current->dimensions(dimension);
        break;
      case HloOpcode::kBitcast:
        if (!xla::ShapeUtil::ReshapeIsBitcast(current->operand(0)->shape(), shape)) return false;
        [[fallthrough]];
      case HloOpcode::kReshape: {
        const std::optional<int64_t> before =
            DimensionBefore(current->operand(0)->shape(), shape, dimension);
        if (!before.has_value()) return false;
        dimension = *before;
        break;
      }
      case HloOpcode::kCopy:
        break;
      default:
        return false;
    }
    current = current->operand(0);
  }
}

}  // namespace

bool CombinesTwoParameters(const HloInstruction& root) {
  return root.operand_count() == 2 && root.operand(0)->opcode() == HloOpcode::kParameter &&
         root.operand(1)->opcode() == HloOpcode::kParameter && root.operand(0) != root.operand(1);
}

bool IsSymmetricReducer(const HloComputation& reducer) {
  const int64_t arrays = reducer.num_parameters() / 2;
  const HloInstruction& root = *reducer.root_instruction();
  // Nearly every reducer.
  if (IsCommutative(root) && CombinesTwoParameters(root)) return arrays == 1;
  return Mirror(arrays).Matches(root, root);
}

ReductionOrder OrderOf(const HloInstruction& reduce) {
  const HloComputation& reducer = *reduce.to_apply();
  if (IsSymmetricReducer(reducer)) return {CombineOrder::kAny};
  // Outside of a fusion the operands are not part of the kernel's text.
  if (reduce.operand_count() != 4 || !reduce.parent()->IsFusionComputation()) return {};
  std::optional<int64_t> along;
  for (const int64_t dimension : reduce.dimensions()) {
    if (reduce.operand(0)->shape().dimensions(dimension) == 1) continue;
    if (along.has_value()) return {};
    along = dimension;
  }
  if (!along.has_value()) return {};
  for (const int64_t position : {1, 0}) {
    if (CountsAlong(*reduce.operand(position), *along) && SelectsAnElement(reducer, position)) {
      return {CombineOrder::kByPosition, position};
    }
  }
  return {};
}

}  // namespace onexpu::compiler
