#include "pjrt_core/compiler/codegen/schedules/schedule_selector.h"

#include <memory>
#include <utility>

#include "pjrt_core/compiler/analysis/attention_queries.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/analysis/top_k_queries.h"
#include "pjrt_core/compiler/codegen/schedules/schedules.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using OneKernel = absl::StatusOr<LaunchDimensions> (*)(FusionContext&);

absl::Status EmitOne(KernelSequence& sequence, OneKernel schedule) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin());
  TF_ASSIGN_OR_RETURN(LaunchDimensions launch, schedule(*kernel));
  return sequence.End(std::move(kernel), std::move(launch));
}

}  // namespace

absl::Status EmitWithSchedule(KernelSequence& sequence) {
  if (sequence.is_resizable()) return EmitLoop(sequence);
  const xla::HloInstruction& root = RootOf(sequence.instruction());
  const bool is_empty = root.shape().IsArray() && xla::ShapeUtil::IsZeroElementArray(root.shape());
  if (is_empty) return absl::OkStatus();
  if (FindSortOfTopK(sequence.instruction()) != nullptr) return EmitTopK(sequence);
  if (sequence.target().schedules->has_attention_kernels && IsAttention(sequence.instruction())) {
    return EmitOne(sequence, EmitAttention);
  }
  if (OneResultOf(root).opcode() == xla::HloOpcode::kFft) return EmitOne(sequence, EmitFft);
  switch (root.opcode()) {
    case xla::HloOpcode::kConcatenate:
      return EmitOne(sequence, EmitConcatenate);
    case xla::HloOpcode::kRngGetAndUpdateState:
      return EmitRngState(sequence);
    case xla::HloOpcode::kReduce:
      return EmitReduction(sequence);
    case xla::HloOpcode::kScatter:
      return EmitScatter(sequence);
    case xla::HloOpcode::kSort:
      return EmitSort(sequence);
    case xla::HloOpcode::kReduceWindow:
      if (!sequence.target().schedules->scans_in_work_items || !IsScan(root)) break;
      return EmitOne(sequence, EmitScan);
    default:
      break;
  }
  TF_ASSIGN_OR_RETURN(const bool is_by_rows, EmitRowFusion(sequence));
  if (is_by_rows) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(const bool is_dot, EmitDots(sequence));
  return is_dot ? absl::OkStatus() : EmitTranspositionOrLoop(sequence);
}

}  // namespace onexpu::compiler
