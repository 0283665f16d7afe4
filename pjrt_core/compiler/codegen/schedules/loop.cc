#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/elemental/kernel_outputs.h"
#include "pjrt_core/compiler/codegen/schedules/schedules.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;
using xla::HloOpcode;

// Results that one kernel writes: their numbers among the kernel's.
struct Group {
  std::vector<size_t> numbers;
  bool updates_in_place = false;
};

std::vector<Group> MakeGroups(const FusionContext& kernel) {
  std::vector<Group> groups;
  const std::vector<Output> outputs = OutputsOf(kernel.root(), kernel.results());
  for (size_t number = 0; number < outputs.size(); ++number) {
    const Output& output = outputs[number];
    const xla::Shape& shape = output.array->shape;
    if (!shape.IsArray() || xla::ShapeUtil::IsZeroElementArray(shape)) continue;
    if (UpdatesInPlace(kernel, output)) {
      if (!xla::ShapeUtil::IsZeroElementArray(output.instruction->operand(1)->shape())) {
        groups.push_back({{number}, /*updates_in_place=*/true});
      }
      continue;
    }
    auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return !group.updates_in_place &&
             xla::ShapeUtil::SameDimensions(outputs[group.numbers[0]].array->shape, shape);
    });
    if (same == groups.end()) {
      groups.push_back({{number}});
    } else {
      same->numbers.push_back(number);
    }
  }
  return groups;
}

// The arguments that computing `instruction` reads.
void CollectReads(const FusionContext& kernel, const HloInstruction& instruction,
                  absl::flat_hash_set<const HloInstruction*>& visited,
                  absl::flat_hash_set<Value*>& reads) {
  if (!visited.insert(&instruction).second) return;
  if (kernel.FindArray(instruction)) {
    for (int64_t i = 0; const Array* array = kernel.FindArray(instruction, i); ++i)
      reads.insert(array->pointer);
    return;
  }
  for (const HloInstruction* operand : instruction.operands())
    CollectReads(kernel, *operand, visited, reads);
}

// A kernel that writes over an operand comes after those that read it.
absl::Status OrderGroups(const FusionContext& kernel, std::vector<Group>& groups) {
  const std::vector<Output> outputs = OutputsOf(kernel.root(), kernel.results());
  std::vector<Group> ordered;
  while (!groups.empty()) {
    auto is_free = [&](const Group& candidate) {
      for (const Group& other : groups) {
        if (&other == &candidate) continue;
        absl::flat_hash_set<const HloInstruction*> visited;
        absl::flat_hash_set<Value*> reads;
        for (const size_t number : other.numbers) {
          CollectReads(kernel, *outputs[number].instruction, visited, reads);
        }
        for (const size_t number : candidate.numbers) {
          if (reads.contains(outputs[number].array->pointer)) return false;
        }
      }
      return true;
    };
    auto next = std::find_if(groups.begin(), groups.end(), is_free);
    if (next == groups.end()) {
      return UnsupportedOperation(kernel.instruction(),
                                  "its results overwrite each other's operands");
    }
    ordered.push_back(std::move(*next));
    groups.erase(next);
  }
  groups = std::move(ordered);
  return absl::OkStatus();
}

bool HasSerialLoop(const HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kSelectAndScatter:
    case HloOpcode::kDot:
    case HloOpcode::kConvolution:
      return true;
    default:
      break;
  }
  if (instruction.opcode() != HloOpcode::kFusion) return false;
  for (const HloInstruction* inner : instruction.fused_instructions()) {
    if (HasSerialLoop(*inner)) return true;
  }
  return false;
}

// True when elements are only read at their own place in memory (or are scalars): the index itself
// is not needed then.
bool ReadsInPlace(const FusionContext& kernel, const HloInstruction& instruction,
                  const xla::Shape& shape, absl::flat_hash_set<const HloInstruction*>& visited) {
  if (!visited.insert(&instruction).second) return true;
  if (instruction.shape().IsArray() && instruction.shape().dimensions().empty()) return true;
  if (!xla::ShapeUtil::EqualIgnoringElementType(instruction.shape(), shape)) return false;
  if (kernel.FindArray(instruction)) return true;
  if (instruction.opcode() == HloOpcode::kBroadcast &&
      instruction.operand(0)->shape().dimensions().empty())
    return true;
  if (!instruction.IsElementwise()) return false;
  for (const HloInstruction* operand : instruction.operands()) {
    if (!ReadsInPlace(kernel, *operand, shape, visited)) return false;
  }
  return true;
}

bool NeedsIndex(const FusionContext& kernel, absl::Span<const Output> outputs) {
  absl::flat_hash_set<const HloInstruction*> visited;
  return !absl::c_all_of(outputs, [&](const Output& output) {
    return ReadsInPlace(kernel, *output.instruction, outputs[0].array->shape, visited);
  });
}

absl::StatusOr<LaunchDimensions> EmitGroup(FusionContext& kernel, const Group& group) {
  const std::vector<Output> all = OutputsOf(kernel.root(), kernel.results());
  std::vector<Output> outputs;
  for (const size_t number : group.numbers) outputs.push_back(all[number]);
  const WorkItemCost cost =
      HasSerialLoop(kernel.instruction()) ? WorkItemCost::kLoop : WorkItemCost::kElement;
  if (group.updates_in_place) {
    return kernel.PerElement(
        outputs[0].instruction->operand(1)->shape(), cost, /*by_rows=*/true,
        [&](const Index& index) { return StoreUpdate(kernel, outputs[0], index); });
  }
  return kernel.PerElement(
      outputs[0].array->shape, cost, NeedsIndex(kernel, outputs),
      [&](const Index& index) { return StoreElements(kernel, outputs, index); });
}

}  // namespace

absl::Status EmitLoop(KernelSequence& sequence) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin());
  std::vector<Group> groups = MakeGroups(*kernel);
  TF_RETURN_IF_ERROR(OrderGroups(*kernel, groups));
  if (groups.empty()) {
    sequence.Discard(std::move(kernel));
    return absl::OkStatus();
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    if (i > 0) {
      TF_ASSIGN_OR_RETURN(kernel, sequence.Begin(absl::StrCat("_", i)));
    }
    TF_ASSIGN_OR_RETURN(LaunchDimensions launch, EmitGroup(*kernel, groups[i]));
    TF_RETURN_IF_ERROR(sequence.End(std::move(kernel), std::move(launch)));
  }
  return absl::OkStatus();
}

}  // namespace onexpu::compiler
