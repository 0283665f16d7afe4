#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
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

// One result: the `leaf`-th value of `instruction` is stored to result `number`.
struct Output {
  const HloInstruction* instruction;
  int64_t leaf;
  int64_t number;
};

// Results that one kernel writes.
struct Group {
  std::vector<Output> outputs;
  const HloInstruction* in_place_update =
      nullptr;  // a kDynamicUpdateSlice whose operand's memory is the result's
};

std::vector<Output> OutputsOf(const HloInstruction& root) {
  std::vector<Output> outputs;
  auto add = [&](const HloInstruction& instruction) {
    int64_t leaf = 0;
    xla::ShapeUtil::ForEachSubshape(
        instruction.shape(), [&](const xla::Shape& shape, const xla::ShapeIndex&) {
          if (shape.IsTuple()) return;
          outputs.push_back({&instruction, leaf++, static_cast<int64_t>(outputs.size())});
        });
  };
  if (root.opcode() == HloOpcode::kTuple) {
    for (const HloInstruction* operand : root.operands()) add(*operand);
  } else {
    add(root);
  }
  return outputs;
}

// The operand's array when updating `instruction` in place means writing only the update.
bool UpdatesInPlace(const FusionContext& kernel, const Output& output) {
  if (output.instruction->opcode() != HloOpcode::kDynamicUpdateSlice) return false;
  const Array* operand = kernel.FindArray(*output.instruction->operand(0));
  return operand && operand->pointer == kernel.results()[output.number].pointer;
}

std::vector<Group> MakeGroups(const FusionContext& kernel) {
  std::vector<Group> groups;
  for (const Output& output : OutputsOf(kernel.root())) {
    const xla::Shape& shape = kernel.results()[output.number].shape;
    if (!shape.IsArray() || xla::ShapeUtil::IsZeroElementArray(shape)) continue;
    if (UpdatesInPlace(kernel, output)) {
      if (!xla::ShapeUtil::IsZeroElementArray(output.instruction->operand(1)->shape())) {
        groups.push_back({{output}, output.instruction});
      }
      continue;
    }
    auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return !group.in_place_update &&
             xla::ShapeUtil::SameDimensions(kernel.results()[group.outputs[0].number].shape, shape);
    });
    if (same == groups.end()) {
      groups.push_back({{output}});
    } else {
      same->outputs.push_back(output);
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
  std::vector<Group> ordered;
  while (!groups.empty()) {
    auto is_free = [&](const Group& candidate) {
      for (const Group& other : groups) {
        if (&other == &candidate) continue;
        absl::flat_hash_set<const HloInstruction*> visited;
        absl::flat_hash_set<Value*> reads;
        for (const Output& output : other.outputs)
          CollectReads(kernel, *output.instruction, visited, reads);
        for (const Output& output : candidate.outputs) {
          if (reads.contains(kernel.results()[output.number].pointer)) return false;
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

bool NeedsIndex(const FusionContext& kernel, const Group& group) {
  absl::flat_hash_set<const HloInstruction*> visited;
  for (const Output& output : group.outputs) {
    const xla::Shape& shape = kernel.results()[group.outputs[0].number].shape;
    if (!ReadsInPlace(kernel, *output.instruction, shape, visited)) return true;
  }
  return false;
}

absl::StatusOr<LaunchDimensions> EmitElements(FusionContext& kernel, const Group& group) {
  const xla::Shape& shape = kernel.results()[group.outputs[0].number].shape;
  const WorkItemCost cost =
      HasSerialLoop(kernel.instruction()) ? WorkItemCost::kLoop : WorkItemCost::kElement;
  return kernel.PerElement(
      shape, cost, NeedsIndex(kernel, group), [&](const Index& index) -> absl::Status {
        // Everything is read before anything is written: a result may be an operand's memory.
        std::vector<Value*> values;
        for (const Output& output : group.outputs) {
          TF_ASSIGN_OR_RETURN(std::vector<Value*> leaves,
                              kernel.Elements(*output.instruction, index));
          values.push_back(leaves[output.leaf]);
        }
        for (size_t i = 0; i < values.size(); ++i) {
          TF_RETURN_IF_ERROR(kernel.Store(group.outputs[i].number, index, values[i]));
        }
        return absl::OkStatus();
      });
}

absl::StatusOr<LaunchDimensions> EmitUpdate(FusionContext& kernel, const Group& group) {
  const HloInstruction& update_slice = *group.in_place_update;
  const HloInstruction& update = *update_slice.operand(1);
  const WorkItemCost cost =
      HasSerialLoop(kernel.instruction()) ? WorkItemCost::kLoop : WorkItemCost::kElement;
  return kernel.PerElement(
      update.shape(), cost, /*by_rows=*/true, [&](const Index& index) -> absl::Status {
        TF_ASSIGN_OR_RETURN(
            std::vector<Value*> position,
            EmitClampedStarts(kernel, update_slice, 2, update_slice.shape(), update.shape()));
        TF_ASSIGN_OR_RETURN(Value * value, kernel.Element(update, index));
        for (int64_t i = 0; i < index.size(); ++i)
          position[i] = kernel.index_math().Add(position[i], index[i]);
        return kernel.Store(group.outputs[0].number, Index(std::move(position)), value);
      });
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
    TF_ASSIGN_OR_RETURN(LaunchDimensions launch, groups[i].in_place_update
                                                     ? EmitUpdate(*kernel, groups[i])
                                                     : EmitElements(*kernel, groups[i]));
    TF_RETURN_IF_ERROR(sequence.End(std::move(kernel), std::move(launch)));
  }
  return absl::OkStatus();
}

}  // namespace onexpu::compiler
