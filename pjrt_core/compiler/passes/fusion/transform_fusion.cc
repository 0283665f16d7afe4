#include "pjrt_core/compiler/passes/fusion/transform_fusion.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/passes/fusion/fusible.h"
#include "xla/hlo/analysis/hlo_reachability.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;

// Beside a larger transform a launch is nothing, and its results would all be there at once.
constexpr int64_t kMaxTransformBytes = 1 << 20;
// Each that reads its operand in its own way brings that into the kernel.
constexpr int64_t kMaxTransformsPerKernel = 8;

bool IsSmallTransform(const HloInstruction& instruction) {
  return instruction.opcode() == xla::HloOpcode::kFusion &&
         RootOf(instruction).opcode() == xla::HloOpcode::kFft &&
         xla::ShapeUtil::ByteSizeOf(instruction.shape()) <= kMaxTransformBytes;
}

bool AreAlike(const HloInstruction& first, const HloInstruction& second) {
  const HloInstruction& a = OneResultOf(first);
  const HloInstruction& b = OneResultOf(second);
  return a.fft_type() == b.fft_type() && a.fft_length() == b.fft_length() &&
         xla::Shape::Equal()(a.shape(), b.shape());
}

struct Kernel {
  HloInstruction* fusion;
  int64_t transforms;
};

bool CanJoin(const Kernel& kernel, const HloInstruction& transform,
             const xla::HloReachabilityMap& reachable) {
  const int64_t arguments = kernel.fusion->operand_count() + transform.operand_count() +
                            kernel.transforms + 1;  // each has a result
  return kernel.transforms < kMaxTransformsPerKernel && arguments <= kMaxKernelArguments &&
         AreAlike(*kernel.fusion, transform) && !reachable.IsConnected(kernel.fusion, &transform);
}

bool MergeIn(xla::HloComputation* computation) {
  std::vector<HloInstruction*> transforms;
  for (HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
    if (IsSmallTransform(*instruction)) transforms.push_back(instruction);
  }
  if (transforms.size() < 2) return false;
  std::unique_ptr<xla::HloReachabilityMap> reachable = xla::HloReachabilityMap::Build(computation);
  std::vector<Kernel> kernels;
  for (HloInstruction* transform : transforms) {
    const auto kernel = absl::c_find_if(
        kernels, [&](const Kernel& kernel) { return CanJoin(kernel, *transform, *reachable); });
    if (kernel == kernels.end()) {
      kernels.push_back({transform, 1});
      continue;
    }
    kernel->fusion->MergeFusionInstructionIntoMultiOutput(transform);
    ++kernel->transforms;
    // Who waited for one waits for both.
    reachable = xla::HloReachabilityMap::Build(computation);
  }
  return kernels.size() < transforms.size();
}

}  // namespace

absl::StatusOr<bool> TransformFusion::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    if (IsExecuted(*computation)) changed |= MergeIn(computation);
  }
  return changed;
}

}  // namespace onexpu::compiler
