#include "llvm/IR/Constants.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/schedules/schedules.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

// Added to the stored state, which starts as zeros: what generators make of a state of zeros is
// poor.
constexpr uint64_t kInitialState[2] = {0x9e3779b97f4a7c15, 0x7012395f4fd3a9c1};

}  // namespace

absl::Status EmitRngState(KernelSequence& sequence) {
  const auto& update = *xla::Cast<xla::HloRngGetAndUpdateStateInstruction>(&sequence.instruction());
  if (!xla::ShapeUtil::Equal(update.shape(),
                             xla::ShapeUtil::MakeShapeWithDenseLayout(xla::U64, {2}, {0}))) {
    return UnsupportedOperation(update, "the state is two 64-bit words");
  }
  const int64_t state = sequence.AddScratch(2 * sizeof(uint64_t), /*is_state=*/true);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin());
  TF_ASSIGN_OR_RETURN(
      LaunchDimensions launch,
      kernel->PerWorkItem(1, WorkItemCost::kElement, [&](llvm::Value*) -> absl::Status {
        llvm::IRBuilder<>& b = kernel->b();
        const Array words = {update.shape(), kernel->scratch(state)};
        const Index low_index({kernel->index_math().Constant(0)});
        const Index high_index({kernel->index_math().Constant(1)});
        TF_ASSIGN_OR_RETURN(llvm::Value * low, kernel->Load(words, low_index));
        TF_ASSIGN_OR_RETURN(llvm::Value * high, kernel->Load(words, high_index));
        TF_RETURN_IF_ERROR(
            kernel->Store(0, low_index, b.CreateAdd(low, b.getInt64(kInitialState[0]))));
        TF_RETURN_IF_ERROR(
            kernel->Store(0, high_index, b.CreateAdd(high, b.getInt64(kInitialState[1]))));
        llvm::Value* next = b.CreateAdd(low, b.getInt64(update.delta()));
        llvm::Value* carry = b.CreateZExt(b.CreateICmpULT(next, low), b.getInt64Ty());
        TF_RETURN_IF_ERROR(kernel->Store(words, low_index, next));
        return kernel->Store(words, high_index, b.CreateAdd(high, carry));
      }));
  return sequence.End(std::move(kernel), std::move(launch));
}

}  // namespace onexpu::compiler
