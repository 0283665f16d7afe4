#include "pjrt_core/compiler/analysis/row_queries.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "pjrt_core/compiler/analysis/combine_order.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/analysis/launch_dimensions.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

bool HasRows(const xla::Shape& shape, const Rows& rows) {
  return shape.IsArray() && xla::ShapeUtil::SameDimensions(shape, rows.shape);
}

bool LiesLike(const xla::Shape& shape, const Rows& rows) {
  return HasRows(shape, rows) && shape.has_layout() &&
         xla::LayoutUtil::Equal(shape.layout(), rows.shape.layout());
}

// The dimensions that number the rows, ascending.
std::vector<int64_t> RowNumbers(const Rows& rows) {
  std::vector<int64_t> numbers;
  for (int64_t d = 0; d < static_cast<int64_t>(rows.shape.dimensions().size()); ++d) {
    if (!absl::c_linear_search(rows.dimensions, d)) numbers.push_back(d);
  }
  return numbers;
}

std::vector<int64_t> WithoutDegenerate(absl::Span<const int64_t> dimensions,
                                       const xla::Shape& shape) {
  std::vector<int64_t> result;
  absl::c_copy_if(dimensions, std::back_inserter(result),
                  [&](int64_t d) { return shape.dimensions(d) != 1; });
  return result;
}

// Whether `bitcast` leaves the elements in their order, as a reshape does.
bool KeepsOrder(const HloInstruction& bitcast) {
  return bitcast.opcode() == HloOpcode::kBitcast &&
         xla::ShapeUtil::ReshapeIsBitcast(bitcast.operand(0)->shape(), bitcast.shape());
}

}  // namespace

bool AreTheSame(const Rows& a, const Rows& b) {
  return a.dimensions == b.dimensions && LiesLike(a.shape, b);
}

bool GivesRows(const HloInstruction& fusion, const Rows& rows) {
  return absl::c_all_of(ResultsOf(fusion), [&](const HloInstruction* result) {
    return LiesLike(result->shape(), rows) && result->IsElementwise();
  });
}

std::optional<Rows> RowsOf(const HloInstruction& reduce) {
  if (reduce.opcode() != HloOpcode::kReduce || reduce.operand_count() != 2) return std::nullopt;
  // The lanes of a row take interleaved elements.
  if (!IsSymmetricReducer(*reduce.to_apply())) return std::nullopt;
  const xla::Shape& shape = reduce.operand(0)->shape();
  if (!shape.has_layout() || reduce.dimensions().empty()) return std::nullopt;
  Rows rows{shape, {reduce.dimensions().begin(), reduce.dimensions().end()}, 1, 1};
  absl::c_sort(rows.dimensions);
  const int64_t fastest = rows.dimensions.size();
  for (int64_t i = 0; i < static_cast<int64_t>(shape.dimensions().size()); ++i) {
    const int64_t dimension = shape.layout().minor_to_major(i);
    if (absl::c_linear_search(rows.dimensions, dimension) != (i < fastest)) return std::nullopt;
    (i < fastest ? rows.length : rows.count) *= shape.dimensions(dimension);
  }
  return rows;
}

bool ShouldUseRowSchedule(const Rows& rows, const HloInstruction& fusion, const Target& target) {
  constexpr int64_t kMinRowLength = 64;  // each work-item should have some elements
  // A longer row leaves the fast caches between its uses.
  constexpr int64_t kMaxRowLength = 32768;
  // In a loop with fewer elements, one region for the whole loop gains more than the saved
  // launches.
  constexpr int64_t kMinElementsInLoop = 32768;
  const int64_t cores = target.compute_units / target.device->compute_units_per_core;
  if (target.schedules->has_vector_sub_groups && !HasVectorSubGroups(target)) return false;
  return rows.length >= kMinRowLength && rows.length <= kMaxRowLength &&
         rows.count >= 4 * std::max<int64_t>(cores, 1) &&
         (rows.count * rows.length >= kMinElementsInLoop || !IsInLoop(*fusion.parent()));
}

int64_t RowBytesToKeep(const Target& target) {
  constexpr int64_t kReductionBytes = kMaxRowReductions * kMaxRowLanes * int64_t{sizeof(double[2])};
  const auto local = static_cast<int64_t>(target.local_memory_bytes);
  const int64_t reductions = target.schedules->combines_lanes_in_local_memory ? kReductionBytes : 0;
  // Half, so that two groups run at once.
  return std::min(std::clamp<int64_t>(local - reductions, 0, local / 2),
                  target.schedules->max_kept_row_bytes);
}

int64_t RowBytes(xla::PrimitiveType type, const Rows& rows) {
  return rows.length * static_cast<int64_t>(type == xla::F64 ? sizeof(double) : sizeof(float));
}

bool StaysInItsRow(const HloInstruction& value, const Rows& rows) {
  absl::flat_hash_set<const HloInstruction*> seen = {&value};
  std::vector<std::pair<const HloInstruction*, bool>> open = {
      {&value, HasRows(value.shape(), rows)}};
  while (!open.empty()) {
    const auto [current, has_rows] = open.back();
    open.pop_back();
    // One number for each row is no result.
    if (!has_rows && current->parent()->root_instruction() == current) return false;
    for (const HloInstruction* user : current->users()) {
      bool user_has_rows = has_rows;
      if (user->opcode() == HloOpcode::kTuple) {
        if (!has_rows) return false;
        continue;
      }
      if (user->opcode() == HloOpcode::kReduce) {
        const std::optional<Rows> reduced = RowsOf(*user);
        if (!has_rows || user->operand(1) == current || !reduced || !AreTheSame(*reduced, rows)) {
          return false;
        }
        continue;
      }
      if (user->opcode() == HloOpcode::kBroadcast) {
        const bool along = !has_rows && HasRows(user->shape(), rows) &&
                           WithoutDegenerate(user->dimensions(), rows.shape) ==
                               WithoutDegenerate(RowNumbers(rows), rows.shape);
        if (!along) return false;
        user_has_rows = true;
      } else if (!has_rows && KeepsOrder(*user)) {
        // Still one number for each row, in the same order.
      } else if (!user->IsElementwise() ||
                 !xla::ShapeUtil::SameDimensions(user->shape(), current->shape())) {
        return false;
      }
      if (seen.insert(user).second) open.push_back({user, user_has_rows});
    }
  }
  return true;
}

std::vector<const HloInstruction*> RowReductions(const HloInstruction& fusion) {
  if (fusion.opcode() != HloOpcode::kFusion) return {};
  const auto is_reduction = [](const HloInstruction* instruction) {
    return instruction->opcode() == HloOpcode::kReduce;
  };
  // Nearly every fusion has none.
  if (!absl::c_any_of(fusion.fused_instructions(), is_reduction)) return {};
  std::vector<const HloInstruction*> reductions;
  for (const HloInstruction* instruction :
       fusion.fused_instructions_computation()->MakeInstructionPostOrder()) {
    if (instruction->opcode() == HloOpcode::kDot) return {};
    if (is_reduction(instruction)) reductions.push_back(instruction);
  }
  if (static_cast<int64_t>(reductions.size()) > kMaxRowReductions) return {};
  const std::optional<Rows> rows = RowsOf(*reductions[0]);
  if (!rows || !GivesRows(fusion, *rows)) return {};
  for (const HloInstruction* reduce : reductions) {
    const std::optional<Rows> reduced = RowsOf(*reduce);
    if (!reduced || !AreTheSame(*reduced, *rows) || !StaysInItsRow(*reduce, *rows)) return {};
  }
  return reductions;
}

}  // namespace onexpu::compiler
