#include "pjrt_core/compiler/passes/fusion/top_k_fusion.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/analysis/top_k_queries.h"
#include "pjrt_core/compiler/passes/fusion/fusible.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using xla::HloComputation;
using xla::HloInstruction;
using xla::HloOpcode;
using xla::HloSortInstruction;

// A result of the sort, as an array, and the slices that are all its users.
struct Sorted {
  int64_t operand;  // of the sort
  HloInstruction* array;
  std::vector<HloInstruction*> slices;
};

// The results that have users. Nothing if a user is not a slice.
std::optional<std::vector<Sorted>> SlicedResults(HloSortInstruction& sort) {
  std::vector<Sorted> results;
  const auto add = [&](int64_t operand, HloInstruction* array) {
    if (array->user_count() == 0) return true;
    for (const HloInstruction* user : array->users()) {
      if (user->opcode() != HloOpcode::kSlice) return false;
    }
    results.push_back({operand, array, array->users()});
    return true;
  };
  if (sort.IsRoot() || sort.HasControlDependencies()) return std::nullopt;
  if (sort.shape().IsArray()) {
    if (!add(0, &sort)) return std::nullopt;
    return results;
  }
  for (HloInstruction* user : sort.users()) {
    if (user->opcode() != HloOpcode::kGetTupleElement || user->IsRoot() ||
        !add(user->tuple_index(), user)) {
      return std::nullopt;
    }
  }
  return results;
}

// The number of elements at the beginning of the sorted rows that have users.
int64_t ElementsRead(const HloSortInstruction& sort, const std::vector<Sorted>& results) {
  int64_t count = 0;
  for (const Sorted& result : results) {
    for (const HloInstruction* slice : result.slices) {
      count = std::max(count, slice->slice_limits(sort.sort_dimension()));
    }
  }
  return count;
}

// compare(a, b) | (a == a & b != b)
HloComputation* OrderNanLast(HloComputation& comparator, xla::HloModule* module) {
  HloComputation* ordered = module->AddEmbeddedComputation(comparator.Clone(/*suffix=*/"nan_last"));
  HloInstruction* const root = ordered->root_instruction();
  const xla::Shape& pred = root->shape();
  const auto compared = [&](int64_t operand, xla::ComparisonDirection direction) {
    HloInstruction* const side = root->mutable_operand(operand);
    return ordered->AddInstruction(HloInstruction::CreateCompare(pred, side, side, direction));
  };
  HloInstruction* const only_right_is_nan = ordered->AddInstruction(HloInstruction::CreateBinary(
      pred, HloOpcode::kAnd, compared(0, xla::ComparisonDirection::kEq),
      compared(1, xla::ComparisonDirection::kNe)));
  ordered->set_root_instruction(ordered->AddInstruction(
      HloInstruction::CreateBinary(pred, HloOpcode::kOr, root, only_right_is_nan)));
  return ordered;
}

// The first `count` elements of the results' rows, as a fusion.
HloInstruction* CreateTopK(HloSortInstruction& sort, const std::vector<Sorted>& results,
                           int64_t count, bool has_unordered_nan) {
  HloComputation* const computation = sort.parent();
  xla::HloModule* const module = computation->parent();
  HloComputation::Builder builder("top_k_computation");
  std::vector<HloInstruction*> arguments;
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> inside;
  std::vector<HloInstruction*> operands;
  for (HloInstruction* operand : sort.operands()) {
    HloInstruction*& fused = inside[operand];
    if (fused == nullptr && operand->opcode() == HloOpcode::kIota) {
      fused = builder.AddInstruction(operand->Clone());
    } else if (fused == nullptr) {
      const int64_t number = static_cast<int64_t>(arguments.size());
      fused = builder.AddInstruction(HloInstruction::CreateParameter(
          number, operand->shape(), absl::StrCat("parameter.", number)));
      arguments.push_back(operand);
    }
    operands.push_back(fused);
  }
  HloComputation* const comparator =
      has_unordered_nan ? OrderNanLast(*sort.to_apply(), module) : sort.to_apply();
  HloInstruction* const sorted = builder.AddInstruction(HloInstruction::CreateSort(
      sort.shape(), sort.sort_dimension(), operands, comparator, /*is_stable=*/true));
  std::vector<HloInstruction*> first;
  for (const Sorted& result : results) {
    const xla::Shape& shape = result.array->shape();
    HloInstruction* array = sorted;
    if (!sort.shape().IsArray()) {
      array = builder.AddInstruction(
          HloInstruction::CreateGetTupleElement(shape, sorted, result.operand));
    }
    xla::Shape part = shape;
    part.set_dimensions(sort.sort_dimension(), count);
    const std::vector<int64_t> starts(shape.dimensions().size(), 0);
    const std::vector<int64_t> strides(shape.dimensions().size(), 1);
    first.push_back(builder.AddInstruction(
        HloInstruction::CreateSlice(part, array, starts, part.dimensions(), strides)));
  }
  if (first.size() > 1) builder.AddInstruction(HloInstruction::CreateTuple(first));
  HloComputation* const fused = module->AddEmbeddedComputation(builder.Build());
  HloInstruction* const fusion = computation->AddInstruction(HloInstruction::CreateFusion(
      fused->root_instruction()->shape(), HloInstruction::FusionKind::kCustom, arguments, fused));
  module->SetAndUniquifyInstrName(fusion, "top_k_fusion");
  fusion->set_metadata(sort.metadata());
  return fusion;
}

absl::Status Fuse(HloSortInstruction& sort, const std::vector<Sorted>& results, int64_t count,
                  bool has_unordered_nan) {
  HloComputation* const computation = sort.parent();
  HloInstruction* const fusion = CreateTopK(sort, results, count, has_unordered_nan);
  for (size_t i = 0; i < results.size(); ++i) {
    HloInstruction* first = fusion;
    if (results.size() > 1) {
      const xla::Shape& shape = fusion->shape().tuple_shapes(i);
      first = computation->AddInstruction(
          HloInstruction::CreateGetTupleElement(shape, fusion, static_cast<int64_t>(i)));
    }
    for (HloInstruction* slice : results[i].slices) {
      if (xla::Shape::Equal()(slice->shape(), first->shape())) {
        ONEXPU_RETURN_IF_ERROR(slice->ReplaceAllUsesWith(first));
      } else {
        ONEXPU_RETURN_IF_ERROR(slice->ReplaceOperandWithDifferentShape(0, first));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> TopKFusion::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    if (!IsExecuted(*computation)) continue;
    for (HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      auto* const sort = xla::DynCast<HloSortInstruction>(instruction);
      if (sort == nullptr || xla::ShapeUtil::IsZeroElementArray(sort->operand(0)->shape())) {
        continue;
      }
      const std::optional<std::vector<Sorted>> results = SlicedResults(*sort);
      if (!results.has_value() || results->empty()) continue;
      const int64_t count = ElementsRead(*sort, *results);
      if (count == 0 || !ShouldSelect(*sort, count, target_)) continue;
      const ComparatorOrder order = OrderOf(*sort->to_apply());
      if (!order.is_strict_weak) continue;
      ONEXPU_RETURN_IF_ERROR(Fuse(*sort, *results, count, order.has_unordered_nan));
      changed = true;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
