#include "pjrt_core/compiler/passes/fusion/producer_fusion.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/analysis/dot_queries.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/passes/fusion/fusible.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/primitive_util.h"
#include "xla/service/instruction_fusion.h"
#include "xla/shape_util.h"
#include "xla/window_util.h"

namespace onexpu::compiler {
namespace {

using xla::FusionDecision;
using xla::HloInstruction;
using xla::HloOpcode;

// Below this many elements a launch costs more than computing an element again.
constexpr int64_t kMaxRecomputedElements = 1024;

bool IsExpensiveHere(const HloInstruction& instruction) {
  // A vector of quotients takes less time than to write it and read it again.
  if (instruction.opcode() == HloOpcode::kDivide &&
      xla::primitive_util::IsFloatingPointType(instruction.shape().element_type())) {
    return false;
  }
  // Dots that are still here are small or of a type that no library has; each element is a loop.
  return instruction.opcode() == HloOpcode::kDot || instruction.opcode() == HloOpcode::kGather ||
         xla::InstructionFusion::IsExpensive(instruction);
}

// Operations whose every result element reads many elements of an operand.
bool ReadsManyPerElement(const HloInstruction& consumer) {
  switch (consumer.opcode()) {
    case HloOpcode::kDot:
    case HloOpcode::kConvolution:
      return true;
    case HloOpcode::kReduceWindow:
      return xla::window_util::HasOverlappingWindow(consumer.window());
    default:
      return false;
  }
}

// Whether `value` flows, inside its fusion, into an operation for which `predicate` holds.
bool FlowsInto(const HloInstruction& value,
               absl::FunctionRef<bool(const HloInstruction&)> predicate) {
  absl::flat_hash_set<const HloInstruction*> visited = {&value};
  std::vector<const HloInstruction*> open = {&value};
  while (!open.empty()) {
    const HloInstruction* current = open.back();
    open.pop_back();
    for (const HloInstruction* user : current->users()) {
      if (predicate(*user)) return true;
      if (visited.insert(user).second) open.push_back(user);
    }
  }
  return false;
}

bool IsReadManyTimes(const HloInstruction& consumer, int64_t operand_index) {
  if (consumer.opcode() != HloOpcode::kFusion) return ReadsManyPerElement(consumer);
  return FlowsInto(*consumer.fused_parameter(operand_index), ReadsManyPerElement);
}

// Whether a dot's loop would run again for every element that another dot's loop reads of it. Of a
// chain of matrix products, even of tiny ones, each would multiply the work and the code of all
// before it; one in another still costs less than a launch where it is hardly any work.
bool NestsInLoops(const HloInstruction& producer, const HloInstruction& consumer,
                  int64_t operand_index) {
  constexpr int64_t kMaxNestedProducts = 256;
  if (producer.opcode() != HloOpcode::kDot || !IsReadManyTimes(consumer, operand_index)) {
    return false;
  }
  if (Products(producer) > kMaxNestedProducts) return true;
  return consumer.opcode() == HloOpcode::kFusion &&
         absl::c_count_if(consumer.fused_instructions(), [](const HloInstruction* fused) {
           return ReadsManyPerElement(*fused);
         }) > 1;
}

// Whether all that `consumer` does with `dot` is elementwise, with no change of layout.
bool KeepsItsBlocks(const HloInstruction& dot, const HloInstruction& consumer,
                    int64_t operand_index) {
  const auto breaks_blocks = [&](const HloInstruction& user) {
    return user.opcode() != HloOpcode::kTuple &&
           (!user.IsElementwise() || user.opcode() == HloOpcode::kCopy ||
            !xla::ShapeUtil::EqualIgnoringElementType(user.shape(), dot.shape()));
  };
  if (consumer.opcode() != HloOpcode::kFusion) return !breaks_blocks(consumer);
  return !FlowsInto(*consumer.fused_parameter(operand_index), breaks_blocks);
}

// A transform reads each element of a line once, or twice of half a spectrum, though XLA counts it
// among the operations that read elements again and again.
bool IsComputedOnceFor(const HloInstruction& consumer, const HloInstruction& producer) {
  return RootOf(consumer).opcode() == HloOpcode::kFft && producer.IsElementwise() &&
         producer.user_count() == 1;
}

bool FeedsTransform(const HloInstruction& value) {
  return value.user_count() == 1 && RootOf(*value.users()[0]).opcode() == HloOpcode::kFft;
}

bool NeedsNoArithmetic(const HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case HloOpcode::kBitcast:
    case HloOpcode::kBroadcast:
    case HloOpcode::kConstant:
    case HloOpcode::kConvert:
    case HloOpcode::kIota:
    case HloOpcode::kReshape:
    case HloOpcode::kReverse:
    case HloOpcode::kSlice:
    case HloOpcode::kTranspose:
      return true;
    default:
      return false;
  }
}

// Whether `predicate` holds for a user of `value`, or of what only converts it or looks at it
// differently, and the operand that it is there.
bool IsReadBy(
    const HloInstruction& value,
    absl::FunctionRef<bool(const HloInstruction& user, const HloInstruction& operand)> predicate) {
  return absl::c_any_of(value.users(), [&](const HloInstruction* user) {
    const bool passes_on = user->opcode() == HloOpcode::kBitcast || IsFloatConversion(*user);
    return predicate(*user, value) || (passes_on && IsReadBy(*user, predicate));
  });
}

// The same for what `consumer` does with its operand.
bool IsReadBy(
    const HloInstruction& consumer, int64_t operand_index,
    absl::FunctionRef<bool(const HloInstruction& user, const HloInstruction& operand)> predicate) {
  if (consumer.opcode() != HloOpcode::kFusion) {
    return predicate(consumer, *consumer.operand(operand_index));
  }
  return IsReadBy(*consumer.fused_parameter(operand_index), predicate);
}

// Whether a dot would convert an operand again for each block of rows, or vector of columns. A
// rounding takes as many instructions as much else, and halves what is written. To widen vectors of
// columns costs nearly nothing, but of the other operand a kernel of blocks reads one element at a
// time.
bool IsConvertedAgain(const HloInstruction& producer, const HloInstruction& consumer,
                      int64_t operand_index) {
  if (!IsFloatConversion(producer)) return false;
  if (xla::primitive_util::BitWidth(producer.shape().element_type()) <
      xla::primitive_util::BitWidth(producer.operand(0)->shape().element_type())) {
    return IsReadManyTimes(consumer, operand_index);
  }
  return IsReadBy(
      consumer, operand_index, [](const HloInstruction& user, const HloInstruction& operand) {
        return IsBlockedDot(user) && user.operand(1 - ColumnsOf(user)->operand) == &operand;
      });
}

// Whether computing `producer` again for each of its readers would take in ever more: it reads
// several arrays, of which some would be computed there, too. The sums of a residual network are
// such: without an end, each layer's readers would add up all layers before it. Not so the rounds
// of a random generator: each reads both halves of the one before, and would be kernels of its own.
// And of little that is read again, a launch costs more.
bool GrowsWithEveryReader(const HloInstruction& producer) {
  constexpr int64_t kMinMaterializedBytes = 128 << 10;  // bytes
  if (producer.user_count() < 2 || !producer.IsElementwise() || NeedsNoArithmetic(producer) ||
      xla::primitive_util::IsIntegralType(producer.shape().element_type()) ||
      xla::ShapeUtil::ByteSizeOf(producer.shape()) < kMinMaterializedBytes) {
    return false;
  }
  const int64_t elements = xla::ShapeUtil::ElementsIn(producer.shape());
  int64_t arrays = 0;
  bool is_computed = false;
  for (const HloInstruction* operand : producer.unique_operands()) {
    while (NeedsNoArithmetic(*operand) && operand->operand_count() == 1)
      operand = operand->operand(0);
    if (2 * xla::ShapeUtil::ElementsIn(operand->shape()) < elements ||
        operand->opcode() == HloOpcode::kIota) {
      continue;
    }
    ++arrays;
    is_computed = is_computed || IsFusibleProducer(*operand);
  }
  return arrays > 1 && is_computed;
}

// Whether computing `producer` where it is read would repeat it in many transforms. Such are often
// steps of a method whose transforms differ in nothing else, and are one kernel without it; a
// device's compiler needs more for a transform than for anything else.
bool IsSharedByTransforms(const HloInstruction& producer) {
  constexpr size_t kMinSharedTransforms = 3;
  if (producer.user_count() < 2 || !producer.IsElementwise() || NeedsNoArithmetic(producer)) {
    return false;
  }
  absl::flat_hash_set<const HloInstruction*> visited = {&producer}, transforms;
  std::vector<const HloInstruction*> open = {&producer};
  while (!open.empty() && transforms.size() < kMinSharedTransforms) {
    const HloInstruction* current = open.back();
    open.pop_back();
    for (const HloInstruction* user : current->users()) {
      if (!visited.insert(user).second) continue;
      if (RootOf(*user).opcode() == HloOpcode::kFft) transforms.insert(user);
      if (user->IsElementwise() || NeedsNoArithmetic(*user)) open.push_back(user);
    }
  }
  return transforms.size() >= kMinSharedTransforms;
}

// Whether a kernel of blocks would gather its columns' elements one by one, for each block of rows
// again, to spare a transposition of its own.
bool IsTransposedForBlocks(const HloInstruction& producer, const HloInstruction& consumer,
                           int64_t operand_index) {
  // Of fewer products the gathers take no longer than a launch.
  constexpr int64_t kMaxGatheredProducts = 128 << 10;
  const bool is_transposed =
      producer.opcode() == HloOpcode::kTranspose ||
      (producer.opcode() == HloOpcode::kCopy &&
       !xla::LayoutUtil::LayoutsInShapesEqual(producer.shape(), producer.operand(0)->shape()));
  if (!is_transposed) return false;
  return IsReadBy(consumer, operand_index,
                  [](const HloInstruction& user, const HloInstruction& operand) {
                    return IsBlockedDot(user) && Products(user) > kMaxGatheredProducts &&
                           user.operand(ColumnsOf(user)->operand) == &operand;
                  });
}

// Reads memory along another dimension than its reader writes it; a concatenation's schedule has no
// tiles for that.
bool IsTransposedPart(const HloInstruction& producer, const HloInstruction& consumer) {
  return RootOf(consumer).opcode() == HloOpcode::kConcatenate &&
         (producer.opcode() == HloOpcode::kTranspose || producer.opcode() == HloOpcode::kCopy);
}

// The operand whose memory an in-place operation changes must stay memory.
bool IsUpdatedOperand(const HloInstruction& consumer, int64_t operand_index) {
  if (consumer.opcode() == HloOpcode::kDynamicUpdateSlice) return operand_index == 0;
  if (consumer.opcode() != HloOpcode::kFusion) return false;
  const HloInstruction& root = RootOf(consumer);
  return root.opcode() == HloOpcode::kDynamicUpdateSlice &&
         root.operand(0) == consumer.fused_parameter(operand_index);
}

}  // namespace

ProducerFusion::ProducerFusion(const xla::AliasInfo* alias_info)
    : InstructionFusion(IsExpensiveHere, alias_info, /*may_duplicate=*/true) {}

std::vector<xla::HloComputation*> ProducerFusion::GetNonFusionComputations(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  std::vector<xla::HloComputation*> computations =
      InstructionFusion::GetNonFusionComputations(module, execution_threads);
  computations.erase(
      std::remove_if(computations.begin(), computations.end(),
                     [](xla::HloComputation* computation) { return !IsExecuted(*computation); }),
      computations.end());
  return computations;
}

FusionDecision ProducerFusion::ShouldFuse(HloInstruction* consumer, int64_t operand_index) {
  HloInstruction* producer = consumer->mutable_operand(operand_index);
  if (!IsFusibleProducer(*producer)) return FusionDecision::Forbid("producer is a kernel");
  if (!IsFusible(*consumer) || consumer->opcode() == HloOpcode::kConstant) {
    return FusionDecision::Forbid("consumer is no kernel");
  }
  if (IsUpdatedOperand(*consumer, operand_index)) {
    return FusionDecision::Forbid("the updated operand");
  }
  if (consumer->operand_count() + producer->operand_count() > kMaxKernelArguments) {
    return FusionDecision::Forbid("too many arguments");
  }
  // A bitcast alone is no kernel; fused into one it may save nothing, but never costs. The question
  // also comes for what a transform will have taken in before its producer's turn.
  if (consumer->opcode() == HloOpcode::kBitcast && !FeedsTransform(*consumer)) {
    return FusionDecision::Forbid("consumer is a bitcast");
  }
  if (IsBlockedDot(*producer) && !KeepsItsBlocks(*producer, *consumer, operand_index)) {
    return FusionDecision::Forbid("the dot would lose its schedule");
  }
  if (NestsInLoops(*producer, *consumer, operand_index)) {
    return FusionDecision::Forbid("its products would be computed again and again");
  }
  if (IsTransposedForBlocks(*producer, *consumer, operand_index)) {
    return FusionDecision::Forbid("its columns would be gathered");
  }
  const bool is_tiny = xla::ShapeUtil::ElementsIn(producer->shape()) <= kMaxRecomputedElements;
  if (!is_tiny && IsTransposedPart(*producer, *consumer)) {
    return FusionDecision::Forbid("a transposition wants tiles");
  }
  if (!is_tiny && GrowsWithEveryReader(*producer)) {
    return FusionDecision::Forbid("would be computed again, with all before it, for every reader");
  }
  if (!is_tiny && IsSharedByTransforms(*producer)) {
    return FusionDecision::Forbid("would be computed again in many transforms");
  }
  if (!is_tiny && IsConvertedAgain(*producer, *consumer, operand_index)) {
    return FusionDecision::Forbid("would be converted again for every reader");
  }
  if (!is_tiny && !NeedsNoArithmetic(*producer) && IsReadManyTimes(*consumer, operand_index)) {
    return FusionDecision::Forbid("would be computed again for every reader");
  }
  const FusionDecision decision = InstructionFusion::ShouldFuse(consumer, operand_index);
  if (!decision && !IsComputedOnceFor(*consumer, *producer)) return decision;
  if (consumer->opcode() != HloOpcode::kFusion) return FusionDecision::Allow();
  const auto evaluation = evaluations_.try_emplace(consumer, consumer).first;
  if (evaluation->second.CodeDuplicationTooHigh(producer)) {
    return FusionDecision::Forbid("code would grow too much");
  }
  return FusionDecision::Allow();
}

HloInstruction::FusionKind ProducerFusion::ChooseKind(const HloInstruction* producer,
                                                      const HloInstruction* consumer) {
  return FusionKindOf(RootOf(*consumer));
}

HloInstruction* ProducerFusion::FuseInstruction(HloInstruction* fusion, HloInstruction* producer) {
  const auto evaluation = evaluations_.try_emplace(fusion, fusion).first;
  const auto users = evaluation->second.RemoveFusionOperand(producer);
  HloInstruction* fused = InstructionFusion::FuseInstruction(fusion, producer);
  evaluation->second.UpdateEvaluationCache(fused, users);
  return fused;
}

absl::StatusOr<bool> ProducerFusion::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  evaluations_.clear();
  return InstructionFusion::RunImpl(module, execution_threads);
}

}  // namespace onexpu::compiler
