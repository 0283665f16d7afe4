#include "pjrt_core/compiler/analysis/top_k_queries.h"

#include <algorithm>
#include <cmath>

#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/analysis/launch_dimensions.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using xla::HloComputation;
using xla::HloInstruction;
using xla::HloOpcode;

// Each side of a comparator has about ten instructions. The limit ends the comparison of graphs
// whose instructions share operands.
constexpr int64_t kMaxComparedInstructions = 256;

// Whether `lhs` computes from the left elements what `rhs` computes from the right ones. `parity`
// is that of the parameters of `lhs`: parameters 2 i and 2 i + 1 are elements of operand i.
bool IsMirrored(const HloInstruction& lhs, const HloInstruction& rhs, int64_t parity,
                int64_t& budget) {
  if (--budget < 0) return false;
  if (lhs.opcode() != rhs.opcode() || lhs.operand_count() != rhs.operand_count()) return false;
  if (lhs.opcode() == HloOpcode::kParameter) {
    return lhs.parameter_number() % 2 == parity &&
           rhs.parameter_number() == (lhs.parameter_number() ^ 1);
  }
  if (lhs.HasSideEffect() || !lhs.called_computations().empty()) return false;
  return lhs.Identical(rhs, [&](const HloInstruction* a, const HloInstruction* b) {
    return IsMirrored(*a, *b, parity, budget);
  });
}

// Larger chunks leave fewer nodes and more candidates. If all items of the chunks that have one of
// the first nodes are candidates, these are kMaxCandidates, unless chunks would have fewer than
// kMinChunk items.
constexpr int64_t kMinChunk = 4;
constexpr int64_t kMaxChunk = 32;
constexpr int64_t kMaxCandidates = 8192;

int64_t LengthOf(const xla::HloSortInstruction& sort) {
  return sort.operand(0)->shape().dimensions(sort.sort_dimension());
}

// Whether `lhs` is a value of one element and `rhs` the same value of the other one.
bool AreMirrored(const HloInstruction& lhs, const HloInstruction& rhs) {
  for (const int64_t parity : {0, 1}) {
    int64_t budget = kMaxComparedInstructions;
    if (IsMirrored(lhs, rhs, parity, budget)) return true;
  }
  return false;
}

// !(a <= b) & b == b, or with >=: NaN comes first, and all NaN are equal. The comparator of
// TensorFlow's TopKV2 (tf_plugin/translations/array/top_k.cc).
bool IsNanFirst(const HloInstruction& root) {
  if (root.opcode() != HloOpcode::kAnd) return false;
  for (const int64_t i : {0, 1}) {
    const HloInstruction& negated = *root.operand(i);
    const HloInstruction& ordered = *root.operand(1 - i);
    if (negated.opcode() != HloOpcode::kNot || ordered.opcode() != HloOpcode::kCompare) continue;
    const HloInstruction& compared = *negated.operand(0);
    if (compared.opcode() != HloOpcode::kCompare) continue;
    const xla::ComparisonDirection direction = compared.comparison_direction();
    const HloInstruction* const right = compared.operand(1);
    if ((direction == xla::ComparisonDirection::kLe ||
         direction == xla::ComparisonDirection::kGe) &&
        ordered.comparison_direction() == xla::ComparisonDirection::kEq &&
        ordered.operand(0) == right && ordered.operand(1) == right &&
        xla::primitive_util::IsFloatingPointType(right->shape().element_type()) &&
        AreMirrored(*compared.operand(0), *right)) {
      return true;
    }
  }
  return false;
}

}  // namespace

ComparatorOrder OrderOf(const HloComputation& comparator) {
  const HloInstruction& root = *comparator.root_instruction();
  if (IsNanFirst(root)) return {.is_strict_weak = true};
  if (root.opcode() != HloOpcode::kCompare) return {};
  const xla::ComparisonDirection direction = root.comparison_direction();
  if (direction != xla::ComparisonDirection::kLt && direction != xla::ComparisonDirection::kGt) {
    return {};
  }
  const xla::PrimitiveType type = root.operand(0)->shape().element_type();
  const bool is_float = xla::primitive_util::IsFloatingPointType(type);
  if (!is_float && type != xla::PRED && !xla::primitive_util::IsIntegralType(type)) return {};
  if (!AreMirrored(*root.operand(0), *root.operand(1))) return {};
  const bool is_total =
      xla::Cast<xla::HloCompareInstruction>(&root)->order() == xla::ComparisonOrder::kTotal;
  return {.is_strict_weak = true, .has_unordered_nan = is_float && !is_total};
}

std::vector<int64_t> KeyOperands(const xla::HloSortInstruction& sort) {
  std::vector<int64_t> keys;
  for (int64_t i = 0; i < sort.operand_count(); ++i) {
    const HloComputation& comparator = *sort.to_apply();
    if (comparator.parameter_instruction(2 * i)->user_count() > 0 ||
        comparator.parameter_instruction(2 * i + 1)->user_count() > 0) {
      keys.push_back(i);
    }
  }
  return keys;
}

bool IsScanned(const xla::HloSortInstruction& sort, const Target& target) {
  return LengthOf(sort) <= (target.schedules->sorts_in_work_groups ? 64 : 128);
}

std::vector<RankLevel> RankLevels(int64_t length, int64_t count) {
  // With fewer nodes than twice the results, most elements of the chunks are candidates.
  const int64_t enough = 2 * count + 64;
  const int64_t largest = std::clamp(kMaxCandidates / count, kMinChunk, kMaxChunk);
  std::vector<RankLevel> levels;
  int64_t smallest = kMinChunk;
  do {
    const int64_t size = std::clamp(length / enough, smallest, largest);
    // Odd, because the period of data is often a power of two.
    const int64_t nodes = (length + size - 1) / size | 1;
    levels.push_back({size, nodes});
    length = nodes;
    smallest = 2;
  } while (length > 2 * enough);
  return levels;
}

bool ShouldSelect(const xla::HloSortInstruction& sort, int64_t count, const Target& target) {
  const int64_t length = LengthOf(sort);
  const int64_t rows = xla::ShapeUtil::ElementsIn(sort.operand(0)->shape()) / length;
  if (count >= length) return false;
  if (IsScanned(sort, target)) {
    // Rows that fill the lanes of a vector are scanned together.
    const bool fills_lanes = !target.schedules->sorts_in_work_groups && rows >= kVectorLanes;
    return count <= std::max<int64_t>(4, length / (fills_lanes ? 2 : 4));
  }
  if (target.schedules->sorts_in_work_groups) {
    if (count > length / 8) return false;
    // A comparison of two nodes in a loop costs a fraction of a step of a merge, which also moves
    // the elements. An estimate: no GPU has run the kernels.
    constexpr double kRanksPerMerge = 8;
    const auto nodes = static_cast<double>(RankLevels(length, count).back().nodes);
    const auto elements = static_cast<double>(length);
    return nodes * nodes <= kRanksPerMerge * elements * std::log2(elements);
  }
  return count <= length / 4;
}

const xla::HloSortInstruction* FindSortOfTopK(const HloInstruction& instruction) {
  if (instruction.opcode() != HloOpcode::kFusion || !instruction.IsCustomFusion()) return nullptr;
  const HloInstruction& result = OneResultOf(instruction);
  if (result.opcode() != HloOpcode::kSlice) return nullptr;
  const HloInstruction* sorted = result.operand(0);
  if (sorted->opcode() == HloOpcode::kGetTupleElement) sorted = sorted->operand(0);
  return xla::DynCast<xla::HloSortInstruction>(sorted);
}

}  // namespace onexpu::compiler
