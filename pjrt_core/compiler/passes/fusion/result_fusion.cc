#include "pjrt_core/compiler/passes/fusion/result_fusion.h"

#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/analysis/small_region.h"
#include "pjrt_core/compiler/passes/fusion/fusible.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

// In a larger kernel, register pressure and compile time cost more than a launch.
constexpr int64_t kMaxKernelInstructions = 100;

// Whether nothing in it has or decides a schedule but one element of the results for a work-item.
bool IsPlainLoop(const HloInstruction& instruction) {
  if (instruction.opcode() != HloOpcode::kFusion || !instruction.IsLoopFusion() ||
      !instruction.control_predecessors().empty() || !instruction.control_successors().empty()) {
    return false;
  }
  return absl::c_all_of(instruction.fused_instructions(), [](const HloInstruction* fused) {
    const bool changes_layout =
        fused->opcode() == HloOpcode::kCopy &&
        !xla::LayoutUtil::LayoutsInShapesEqual(fused->shape(), fused->operand(0)->shape());
    return IsPlainLoopRoot(*fused) && !changes_layout;
  });
}

// Whether what `fusion` does with its operand is elementwise, with no change of layout: then an
// element of the operand is for one element of the results.
bool ReadsInPlace(const HloInstruction& fusion, int64_t operand_index) {
  const HloInstruction* parameter = fusion.fused_parameter(operand_index);
  absl::flat_hash_set<const HloInstruction*> visited = {parameter};
  std::vector<const HloInstruction*> open = {parameter};
  while (!open.empty()) {
    const HloInstruction* current = open.back();
    open.pop_back();
    for (const HloInstruction* user : current->users()) {
      if (user->opcode() == HloOpcode::kTuple || !visited.insert(user).second) continue;
      if (!user->IsElementwise() ||
          !xla::Shape::Equal().IgnoreElementType()(user->shape(), parameter->shape())) {
        return false;
      }
      open.push_back(user);
    }
  }
  return true;
}

// An array that outlives the computation's run in its place: a donated argument, or state of a
// loop.
bool MayBeWrittenInPlace(const HloInstruction& array) {
  const HloInstruction* source = &array;
  while (source->opcode() == HloOpcode::kGetTupleElement) source = source->operand(0);
  return source->opcode() == HloOpcode::kParameter;
}

// An array that the consumer may overwrite must have been read by its other users. After the
// fusion, the producer runs at the consumer's position: the producer may read such an array only at
// the element it computes, and users that wait for its result can only read a copy of the array.
bool LeavesOthersTheirOperands(const HloInstruction& producer, const HloInstruction& consumer) {
  const int64_t elements = xla::ShapeUtil::ElementsIn(producer.shape());
  const auto may_be_written_over = [&](const HloInstruction& array) {
    return xla::ShapeUtil::ElementsIn(array.shape()) == elements &&
           !consumer.OperandIndices(&array).empty();
  };
  for (int64_t i = 0; i < producer.operand_count(); ++i) {
    if (may_be_written_over(*producer.operand(i)) && !ReadsInPlace(producer, i)) return false;
  }
  return absl::c_all_of(producer.users(), [&](const HloInstruction* user) {
    return user == &consumer || absl::c_none_of(user->operands(), [&](const HloInstruction* array) {
             return array != &producer && array->shape().IsArray() && MayBeWrittenInPlace(*array) &&
                    may_be_written_over(*array);
           });
  });
}

// Whether `end` has to wait for one of the other users of `producer`: it could not have the
// producer's result, too.
bool WaitsForAnotherUser(const HloInstruction& end, const HloInstruction& producer) {
  absl::flat_hash_set<const HloInstruction*> visited;
  std::vector<const HloInstruction*> open;
  const auto add = [&](const std::vector<HloInstruction*>& followers) {
    for (const HloInstruction* follower : followers) {
      if (visited.insert(follower).second) open.push_back(follower);
    }
  };
  visited.insert(&end);
  add(producer.users());
  while (!open.empty()) {
    const HloInstruction* current = open.back();
    open.pop_back();
    if (absl::c_linear_search(current->users(), &end) ||
        absl::c_linear_search(current->control_successors(), &end)) {
      return true;
    }
    add(current->users());
    add(current->control_successors());
  }
  return false;
}

bool CanMerge(const HloInstruction& producer, const HloInstruction& consumer) {
  if (producer.IsRoot() || !IsPlainLoop(producer) || !producer.shape().IsArray() ||
      !xla::Shape::Equal().IgnoreElementType()(producer.shape(), OneResultOf(consumer).shape())) {
    return false;
  }
  const int64_t instructions =
      producer.fused_instruction_count() + consumer.fused_instruction_count();
  const int64_t arguments = producer.operand_count() + consumer.operand_count() +
                            xla::ShapeUtil::GetLeafCount(consumer.shape()) + 1;
  if (instructions > kMaxKernelInstructions || arguments > kMaxKernelArguments) return false;
  for (const int64_t index : consumer.OperandIndices(&producer)) {
    if (!ReadsInPlace(consumer, index)) return false;
  }
  return LeavesOthersTheirOperands(producer, consumer) && !WaitsForAnotherUser(consumer, producer);
}

absl::StatusOr<bool> MergeIn(xla::HloComputation* computation) {
  std::vector<HloInstruction*> consumers = computation->MakeInstructionPostOrder();
  absl::c_reverse(consumers);
  bool changed = false;
  absl::flat_hash_set<const HloInstruction*> merged;
  for (HloInstruction* consumer : consumers) {
    if (merged.contains(consumer) || !IsPlainLoop(*consumer)) continue;
    for (int64_t i = 0; i < consumer->operand_count();) {
      HloInstruction* producer = consumer->mutable_operand(i);
      if (!CanMerge(*producer, *consumer)) {
        ++i;
        continue;
      }
      merged.insert(producer);
      if (producer->user_count() == 1) {
        consumer->MergeFusionInstruction(producer);
        TF_RETURN_IF_ERROR(computation->RemoveInstruction(producer));
      } else {
        consumer->MergeFusionInstructionIntoMultiOutput(producer);
      }
      changed = true;
      i = 0;
    }
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> ResultFusion::RunImpl(xla::HloModule* module,
                                           const absl::flat_hash_set<absl::string_view>&) {
  bool changed = false;
  absl::flat_hash_set<xla::HloComputation*> seen = {module->entry_computation()};
  std::vector<xla::HloComputation*> open = {module->entry_computation()};
  while (!open.empty()) {
    xla::HloComputation* computation = open.back();
    open.pop_back();
    TF_ASSIGN_OR_RETURN(const bool merged, MergeIn(computation));
    changed |= merged;
    for (const HloInstruction* instruction : computation->instructions()) {
      if (!IsControlFlow(*instruction) || IsSmallRegion(*instruction, target_)) continue;
      for (xla::HloComputation* called : instruction->called_computations()) {
        if (seen.insert(called).second) open.push_back(called);
      }
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
