// kScatter, in place on the operand's memory. Either every element of the updates is a work-item of
// its own, with atomics where two may meet, or work-items that cannot meet run through the indices
// in order (scatter_in_order.cc).
#include <algorithm>

#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/codegen/schedules/scatter_in_order.h"
#include "pjrt_core/compiler/codegen/schedules/scatter_kernel.h"
#include "pjrt_core/compiler/codegen/schedules/schedules.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloScatterInstruction;

enum class Mode { kEach, kEachAtomic, kInOrder };

int64_t Product(const std::vector<int64_t>& extents) {
  int64_t product = 1;
  for (int64_t extent : extents) product *= extent;
  return product;
}

// Whether the order of atomic updates of one element may change the result. True for floats, and
// for updates that overwrite each other.
bool DependsOnOrder(const HloScatterInstruction& scatter) {
  return !xla::ShapeUtil::ElementIsIntegral(scatter.scatter_operands()[0]->shape()) ||
         !ScatterKernel::HasIdentity(scatter);
}

bool MayBeAtomic(const HloScatterInstruction& scatter, const Target& target) {
  const bool deterministic =
      scatter.GetModule()->config().debug_options().xla_gpu_deterministic_ops();
  return ScatterKernel::CanBeAtomic(scatter, target) && !(deterministic && DependsOnOrder(scatter));
}

Mode ChooseMode(const HloScatterInstruction& scatter, const ScatterDimensions& dimensions,
                const Target& target) {
  if (scatter.unique_indices()) return Mode::kEach;
  const int64_t apart = Product(dimensions.Extents(dimensions.apart()));
  const int64_t meeting = Product(dimensions.Extents(dimensions.meeting()));
  if (meeting <= 1) return Mode::kEach;
  const bool few = meeting <= 64 || apart * meeting <= 4096;
  const int64_t enough = target.schedules->min_ordered_scatter_elements.value_or(
      std::max<int64_t>(1, target.compute_units / 8));
  if (few || apart >= enough || !MayBeAtomic(scatter, target)) return Mode::kInOrder;
  return Mode::kEachAtomic;
}

absl::Status EmitCopy(KernelSequence& sequence, const HloScatterInstruction& scatter) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin("_copy"));
  const xla::Shape& shape = scatter.operand(0)->shape();
  TF_ASSIGN_OR_RETURN(
      LaunchDimensions launch,
      kernel->PerElement(
          shape, WorkItemCost::kElement, false, [&](const Index& index) -> absl::Status {
            for (int64_t i = 0; i < scatter.scatter_operand_count(); ++i) {
              TF_ASSIGN_OR_RETURN(Value * value, kernel->Element(*scatter.operand(i), index));
              TF_RETURN_IF_ERROR(kernel->Store(i, index, value));
            }
            return absl::OkStatus();
          }));
  return sequence.End(std::move(kernel), std::move(launch));
}

absl::Status EmitEach(KernelSequence& sequence, const HloScatterInstruction& scatter,
                      const ScatterDimensions& dimensions, bool atomic) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin());
  ScatterKernel steps(*kernel, scatter, dimensions);
  TF_ASSIGN_OR_RETURN(
      LaunchDimensions launch,
      kernel->PerElement(dimensions.updates(), WorkItemCost::kElement, true,
                         [&](const Index& index) { return steps.Update({index}, atomic); }));
  return sequence.End(std::move(kernel), std::move(launch));
}

// Whether every operand already is where its result belongs.
bool IsInPlace(const KernelSequence& sequence, const HloScatterInstruction& scatter) {
  const KernelArguments& arguments = sequence.arguments();
  const bool is_fusion = sequence.instruction().opcode() == xla::HloOpcode::kFusion;
  for (int64_t i = 0; i < scatter.scatter_operand_count(); ++i) {
    int64_t number = i;
    if (is_fusion) {
      const xla::HloInstruction& operand = *scatter.operand(i);
      if (operand.opcode() != xla::HloOpcode::kParameter) return false;
      number = operand.parameter_number();
    }
    if (!arguments.Same(arguments.operands()[number][0], arguments.results()[i])) return false;
  }
  return true;
}

}  // namespace

absl::Status EmitScatter(KernelSequence& sequence) {
  const xla::HloInstruction& root = RootOf(sequence.instruction());
  const auto& scatter = *xla::Cast<HloScatterInstruction>(&root);
  if (xla::ShapeUtil::IsZeroElementArray(scatter.operand(0)->shape())) return absl::OkStatus();
  const ScatterDimensions dimensions(scatter);
  const bool no_updates = xla::ShapeUtil::IsZeroElementArray(dimensions.updates());
  const Mode mode = ChooseMode(scatter, dimensions, sequence.target());
  const ScatterPlan plan = mode == Mode::kInOrder && !no_updates
                               ? ChooseScatterPlan(scatter, dimensions, sequence.target())
                               : ScatterPlan();
  const int64_t scratch = AddScatterScratch(sequence, scatter, plan);
  if (!IsInPlace(sequence, scatter)) TF_RETURN_IF_ERROR(EmitCopy(sequence, scatter));
  if (no_updates) return absl::OkStatus();
  if (mode == Mode::kInOrder)
    return EmitScatterInOrder(sequence, scatter, dimensions, plan, scratch);
  return EmitEach(sequence, scatter, dimensions, mode == Mode::kEachAtomic);
}

}  // namespace onexpu::compiler
