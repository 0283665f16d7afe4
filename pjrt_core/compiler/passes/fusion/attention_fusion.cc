#include "pjrt_core/compiler/passes/fusion/attention_fusion.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/analysis/attention_queries.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/analysis/launch_dimensions.h"
#include "pjrt_core/compiler/passes/fusion/fusible.h"
#include "pjrt_core/compiler/passes/onednn/library_types.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

// Fewer scores stay in the caches from one step to the next.
constexpr int64_t kMinScores = 256 << 10;
// The kernel rounds no weights. Whether that is what the program asks for, or may be left out.
bool NeedsNoRounding(const Attention& attention) {
  const HloInstruction& sums = *attention.sums;
  if (sums.GetModule()->config().debug_options().xla_allow_excess_precision()) return true;
  const HloInstruction* weights = sums.operand(sums.operand(0) == attention.values ? 1 : 0);
  while (weights != attention.weights) {
    if (weights->shape().element_type() != xla::F32) return false;
    weights = weights->operand(0);
  }
  return true;
}

bool IsWorthAKernel(const Attention& attention, const Target& target) {
  const xla::Shape& shape = attention.arguments->shape();
  const int64_t scores = xla::ShapeUtil::ElementsIn(shape);
  const int64_t queries = shape.dimensions(attention.query);
  const int64_t groups = scores / shape.dimensions(attention.key) / kVectorLanes;
  return HasVectorSubGroups(target) && scores >= kMinScores && queries >= kVectorLanes &&
         groups >= int64_t{target.compute_units} &&
         std::max(attention.features(), attention.contracted()) <= kMaxAttentionFeatures &&
         // What a library multiplies in half precision it multiplies faster.
         LibraryType(*attention.scores, target) == xla::F32 &&
         LibraryType(*attention.sums, target) == xla::F32;
}

// What is read for every query is f32 in memory already.
absl::Status Widen(HloInstruction* dot, int64_t operand) {
  HloInstruction* value = dot->mutable_operand(operand);
  if (value->shape().element_type() == xla::F32) return absl::OkStatus();
  return dot->ReplaceOperandWithDifferentShape(operand, ConvertTo(xla::F32, value));
}

// Costs next to nothing where it is used. A mask of positions is a few operations on numbers that
// the kernel has; `budget` counts them.
bool IsComputedInPlace(const HloInstruction& instruction, int64_t& budget) {
  if (--budget < 0) return false;
  switch (instruction.opcode()) {
    case HloOpcode::kBroadcast:
    case HloOpcode::kIota:
    case HloOpcode::kTranspose:
      return true;
    case HloOpcode::kConstant:
      return xla::ShapeUtil::IsEffectiveScalar(instruction.shape());
    default:
      return IsFusible(instruction) && instruction.IsElementwise() &&
             !IsTranscendental(instruction.opcode()) && instruction.operand_count() > 0 &&
             absl::c_all_of(instruction.operands(), [&](const HloInstruction* operand) {
               return operand->opcode() != HloOpcode::kTranspose &&
                      IsComputedInPlace(*operand, budget) &&
                      (operand->opcode() != HloOpcode::kBroadcast ||
                       IsComputedInPlace(*operand->operand(0), budget));
             });
  }
}

bool IsComputedInPlace(const HloInstruction& instruction) {
  int64_t budget = 16;
  return IsComputedInPlace(instruction, budget);
}

// The kernel's instructions, the root first: the attention's own, and what they read that is
// computed in place.
std::vector<HloInstruction*> KernelOf(const Attention& attention) {
  const std::vector<HloInstruction*> own = InstructionsOf(attention);
  absl::flat_hash_set<const HloInstruction*> inside(own.begin(), own.end());
  std::vector<HloInstruction*> open = own;
  while (!open.empty()) {
    const HloInstruction* current = open.back();
    open.pop_back();
    for (HloInstruction* operand : current->operands()) {
      // Keys and values lie as the kernel wants them: see LayoutOfKeys.
      if (operand == &attention.keys() || operand == attention.values) continue;
      if (!inside.contains(operand) && IsComputedInPlace(*operand)) {
        inside.insert(operand);
        open.push_back(operand);
      }
    }
  }
  std::vector<HloInstruction*> order;
  for (HloInstruction* instruction : attention.sums->parent()->MakeInstructionPostOrder()) {
    if (inside.contains(instruction)) order.push_back(instruction);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

bool HasFewArguments(const Attention& attention) {
  const std::vector<HloInstruction*> kernel = KernelOf(attention);
  absl::flat_hash_set<const HloInstruction*> arguments;
  for (const HloInstruction* instruction : kernel) {
    arguments.insert(instruction->operands().begin(), instruction->operands().end());
  }
  for (const HloInstruction* instruction : kernel) arguments.erase(instruction);
  return static_cast<int64_t>(arguments.size()) < kMaxKernelArguments;
}

absl::Status Fuse(HloInstruction* sums, const Attention& attention) {
  auto* const scores = const_cast<HloInstruction*>(attention.scores);
  ONEXPU_RETURN_IF_ERROR(Widen(scores, 1 - attention.queries_operand));
  ONEXPU_RETURN_IF_ERROR(Widen(sums, sums->operand(0) == attention.values ? 0 : 1));
  xla::HloComputation* const computation = sums->parent();
  HloInstruction* fusion = computation->CreateFusionInstruction(
      KernelOf(*FindAttention(*sums)), HloInstruction::FusionKind::kCustom);
  computation->parent()->SetAndUniquifyInstrName(fusion, "attention_fusion");
  fusion->set_metadata(fusion->fused_expression_root()->metadata());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> AttentionFusion::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (!target_.schedules->has_attention_kernels) return false;
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    if (!IsExecuted(*computation)) continue;
    for (HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      if (instruction->opcode() != HloOpcode::kDot) continue;
      const std::optional<Attention> attention = FindAttention(*instruction);
      if (!attention.has_value() || !NeedsNoRounding(*attention) ||
          !IsWorthAKernel(*attention, target_) || !HasFewArguments(*attention)) {
        continue;
      }
      ONEXPU_RETURN_IF_ERROR(Fuse(instruction, *attention));
      changed = true;  // what it took in comes before it in the order
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
