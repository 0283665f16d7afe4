#include "pjrt_core/compiler/passes/attention_fusion.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/codegen/attention_queries.h"
#include "pjrt_core/compiler/codegen/launch_dimensions.h"
#include "pjrt_core/compiler/passes/fusible.h"
#include "pjrt_core/compiler/passes/library_types.h"
#include "pjrt_core/program/status_macros.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

// Fewer scores stay in the caches from one step to the next.
constexpr int64_t kFewestScores = 256 << 10;
// Of more, a library's products make up for it. Milliseconds on two cores with AVX2, kernel against
// library, for 8 M scores of 16 features 8.8 : 20, of 32 13.7 : 22, of 48 17.6 : 35, of 64 22 : 29,
// for 4 M of 128 25 : 20.
constexpr int64_t kMostFeatures = 64;

// The kernel rounds no weights. Whether that is what the program asks for, or may be left out.
bool NeedsNoRounding(const Attention& attention) {
  const HloInstruction& sums = *attention.sums;
  const int64_t weights = sums.operand(0) == attention.values ? 1 : 0;
  return sums.operand(weights)->shape().element_type() == xla::F32 ||
         sums.GetModule()->config().debug_options().xla_allow_excess_precision();
}

bool IsWorthAKernel(const Attention& attention, const Target& target) {
  return HasVectorSubGroups(target) &&
         xla::ShapeUtil::ElementsIn(attention.scores->shape()) >= kFewestScores &&
         attention.arguments->shape().dimensions(attention.query) >= kVectorLanes &&
         std::max(attention.features(), attention.contracted()) <= kMostFeatures &&
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

// Costs nothing where it is used.
bool IsComputedInPlace(const HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case HloOpcode::kBroadcast:
    case HloOpcode::kIota:
    case HloOpcode::kTranspose:
      return true;
    case HloOpcode::kConstant:
      return xla::ShapeUtil::IsEffectiveScalar(instruction.shape());
    default:
      // A mask of positions.
      return IsFusible(instruction) && instruction.IsElementwise() &&
             instruction.operand_count() > 0 &&
             absl::c_all_of(instruction.operands(), [](const HloInstruction* operand) {
               return operand->opcode() != HloOpcode::kTranspose && IsComputedInPlace(*operand) &&
                      (operand->opcode() != HloOpcode::kBroadcast ||
                       IsComputedInPlace(*operand->operand(0)));
             });
  }
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

absl::Status Fuse(HloInstruction* sums, const Attention& attention) {
  auto* const scores = const_cast<HloInstruction*>(attention.scores);
  ONEXPU_RETURN_IF_ERROR(Widen(scores, 1 - attention.queries_operand));
  ONEXPU_RETURN_IF_ERROR(Widen(sums, sums->operand(0) == attention.values ? 0 : 1));
  xla::HloComputation* const computation = sums->parent();
  HloInstruction* fusion = computation->CreateFusionInstruction(
      KernelOf(*FindAttention(*sums)), HloInstruction::FusionKind::kCustom);
  fusion->SetAndSanitizeName("attention_fusion");
  computation->parent()->SetAndUniquifyInstrName(fusion, "attention_fusion");
  fusion->set_metadata(fusion->fused_expression_root()->metadata());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> AttentionFusion::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (target_.gpu_schedules) return false;
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    if (!IsExecuted(*computation)) continue;
    for (HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      if (instruction->opcode() != HloOpcode::kDot) continue;
      const std::optional<Attention> attention = FindAttention(*instruction);
      if (!attention.has_value() || !NeedsNoRounding(*attention) ||
          !IsWorthAKernel(*attention, target_)) {
        continue;
      }
      ONEXPU_RETURN_IF_ERROR(Fuse(instruction, *attention));
      changed = true;
      // Its dots are gone from the computation, and with them what comes later in the order.
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
