// kScatter, in place on the operand's memory. Either every element of the updates is a work-item of
// its own, with atomics where two may meet, or work-items that cannot meet run through the indices
// in order: deterministic, and as fast where they are many or the indices few.
#include <algorithm>

#include "pjrt_core/compiler/codegen/hlo_queries.h"
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

Mode ChooseMode(const HloScatterInstruction& scatter, const ScatterDimensions& dimensions,
                const Target& target) {
  if (scatter.unique_indices()) return Mode::kEach;
  const int64_t apart = Product(dimensions.Extents(dimensions.apart()));
  const int64_t meeting = Product(dimensions.Extents(dimensions.meeting()));
  if (meeting <= 1) return Mode::kEach;
  const bool few = meeting <= 64 || apart * meeting <= 4096;
  // An atomic costs a CPU as much as ten plain updates, so order is cheaper until there are that
  // many threads.
  const int64_t enough =
      target.gpu_schedules ? 4096 : std::max<int64_t>(1, target.compute_units / 8);
  if (few || apart >= enough || !ScatterKernel::CanBeAtomic(scatter, target)) return Mode::kInOrder;
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

absl::StatusOr<LaunchDimensions> EmitEach(FusionContext& kernel,
                                          const HloScatterInstruction& scatter,
                                          const ScatterDimensions& dimensions, bool atomic) {
  ScatterKernel steps(kernel, scatter, dimensions);
  return kernel.PerElement(
      dimensions.updates(), WorkItemCost::kElement, true,
      [&](const Index& index) { return steps.Update(index.values(), atomic); });
}

absl::StatusOr<LaunchDimensions> EmitInOrder(FusionContext& kernel,
                                             const HloScatterInstruction& scatter,
                                             const ScatterDimensions& dimensions) {
  ScatterKernel steps(kernel, scatter, dimensions);
  const std::vector<int64_t> extents = dimensions.Extents(dimensions.apart());
  const int64_t count = Product(extents);
  const auto run = [&](Value* id) -> absl::Status {
    const Index apart = kernel.index_math().DelinearizeRowMajor(id, extents);
    return kernel.ForEach(dimensions.Extents(dimensions.meeting()),
                          [&](absl::Span<Value* const> meeting) {
                            std::vector<Value*> index(dimensions.updates().dimensions().size());
                            for (size_t i = 0; i < extents.size(); ++i)
                              index[dimensions.apart()[i]] = apart[i];
                            for (size_t i = 0; i < meeting.size(); ++i)
                              index[dimensions.meeting()[i]] = meeting[i];
                            return steps.Update(index, /*atomic=*/false);
                          });
  };
  // As many groups as possible: each work-item has a long way to go.
  constexpr int64_t kLocal = 16;
  if (count < kLocal) {
    TF_RETURN_IF_ERROR(run(kernel.GlobalId()));
    return LaunchDimensions{{static_cast<uint64_t>(count)}, {1}};
  }
  const uint64_t padded = (count + kLocal - 1) / kLocal * kLocal;
  Value* id = kernel.GlobalId();
  TF_RETURN_IF_ERROR(
      kernel.If(kernel.b().CreateICmpULT(id, kernel.b().getInt64(count)), [&] { return run(id); }));
  return LaunchDimensions{{padded}, {kLocal}};
}

// Whether every operand already is where its result belongs.
bool IsInPlace(const FusionContext& kernel, const HloScatterInstruction& scatter) {
  for (int64_t i = 0; i < scatter.scatter_operand_count(); ++i) {
    const Array* operand = kernel.FindArray(*scatter.operand(i));
    if (operand == nullptr || operand->pointer != kernel.results()[i].pointer) return false;
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
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin());
  if (!IsInPlace(*kernel, scatter)) {
    sequence.Discard(std::move(kernel));
    TF_RETURN_IF_ERROR(EmitCopy(sequence, scatter));
    if (no_updates) return absl::OkStatus();
    TF_ASSIGN_OR_RETURN(kernel, sequence.Begin());
  } else if (no_updates) {
    sequence.Discard(std::move(kernel));
    return absl::OkStatus();
  }
  const Mode mode = ChooseMode(scatter, dimensions, sequence.target());
  TF_ASSIGN_OR_RETURN(LaunchDimensions launch,
                      mode == Mode::kInOrder
                          ? EmitInOrder(*kernel, scatter, dimensions)
                          : EmitEach(*kernel, scatter, dimensions, mode == Mode::kEachAtomic));
  return sequence.End(std::move(kernel), std::move(launch));
}

}  // namespace onexpu::compiler
