#include "pjrt_core/compiler/codegen/region/region_emitter.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/analysis/small_region.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/elemental/fusion_context.h"
#include "pjrt_core/compiler/codegen/kernel/kernel_arguments.h"
#include "pjrt_core/compiler/codegen/kernel/kernel_sequence.h"
#include "pjrt_core/compiler/codegen/llvm/spirv_target.h"
#include "pjrt_core/compiler/codegen/region/region_memory.h"
#include "pjrt_core/compiler/codegen/region/region_work.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloComputation;
using xla::HloInstruction;
using xla::HloOpcode;

class RegionEmitter {
 public:
  RegionEmitter(FusionContext& kernel, RegionMemory& memory, int64_t work_items)
      : kernel_(kernel), memory_(memory), work_(kernel, work_items) {}

  // The whole region, or the next `max_steps` steps of a loop.
  absl::Status EmitRegion(const HloInstruction& instruction, std::optional<int64_t> max_steps) {
    if (!max_steps.has_value()) return Emit(instruction);
    return EmitWhile(instruction, max_steps);
  }

 private:
  absl::Status Emit(const HloInstruction& instruction) {
    if (IsFree(instruction)) return absl::OkStatus();
    switch (instruction.opcode()) {
      case HloOpcode::kWhile:
        return EmitWhile(instruction);
      case HloOpcode::kConditional:
        return EmitConditional(instruction);
      case HloOpcode::kCall:
        return EmitSequence(*instruction.to_apply());
      default:
        return EmitOperation(instruction);
    }
  }

  using Slices = std::vector<RegionMemory::Slice>;

  void Synchronize() {
    if (pending_.empty()) return;
    work_.Synchronize();
    pending_.Clear();
  }

  absl::Status EmitSequence(const HloComputation& computation) {
    const xla::HloSchedule& schedule = computation.parent()->schedule();
    for (const HloInstruction* instruction : schedule.sequence(&computation).instructions()) {
      TF_RETURN_IF_ERROR(Emit(*instruction));
    }
    return absl::OkStatus();
  }

  // A scalar that decides where all work-items go.
  absl::StatusOr<Value*> LoadScalar(const HloInstruction& instruction) {
    TF_ASSIGN_OR_RETURN(const Slices slices, memory_.Slices(instruction));
    if (pending_.Conflict(slices, {})) Synchronize();
    TF_ASSIGN_OR_RETURN(const std::vector<Array> arrays, memory_.Arrays(instruction, kernel_));
    pending_.Add(slices, {});
    return kernel_.Load(arrays[0],
                        Index(std::vector<Value*>(instruction.shape().dimensions().size(),
                                                  kernel_.index_math().Constant(0))));
  }

  // What one step leaves pending meets the next one's beginning, so each step ends with a barrier.
  absl::Status EmitWhile(const HloInstruction& loop,
                         std::optional<int64_t> max_steps = std::nullopt) {
    Synchronize();
    IndexMath& math = kernel_.index_math();
    llvm::IRBuilder<>& b = kernel_.b();
    llvm::AllocaInst* steps = nullptr;
    if (max_steps.has_value()) steps = kernel_.Slot(b.getInt64Ty(), b.getInt64(0));
    const auto step = [&]() -> absl::Status {
      TF_RETURN_IF_ERROR(EmitSequence(*loop.while_body()));
      Synchronize();
      if (steps == nullptr) return absl::OkStatus();
      b.CreateStore(b.CreateAdd(b.CreateLoad(b.getInt64Ty(), steps), b.getInt64(1)), steps);
      return absl::OkStatus();
    };
    const int64_t trips = KnownTripCount(loop);
    if (steps == nullptr && trips >= 0 && trips < (int64_t{1} << 30)) {
      return kernel_.For(math.Constant(0), math.Constant(trips), math.Constant(1),
                         [&](Value*) { return step(); });
    }
    const auto condition = [&]() -> absl::StatusOr<Value*> {
      TF_RETURN_IF_ERROR(EmitSequence(*loop.while_condition()));
      TF_ASSIGN_OR_RETURN(Value * goes_on, LoadScalar(*loop.while_condition()->root_instruction()));
      if (steps == nullptr) return goes_on;
      Value* taken = b.CreateLoad(b.getInt64Ty(), steps);
      return b.CreateAnd(goes_on, b.CreateICmpULT(taken, b.getInt64(*max_steps)));
    };
    TF_RETURN_IF_ERROR(kernel_.While(condition, step));
    // What the last condition left pending, and `step` forgot.
    work_.Synchronize();
    return absl::OkStatus();
  }

  absl::Status EmitConditional(const HloInstruction& conditional) {
    TF_ASSIGN_OR_RETURN(Value * selector, LoadScalar(*conditional.operand(0)));
    Synchronize();
    return EmitBranches(conditional, selector, 0);
  }

  // Branch 0 when the selector is true or 0, and so on; the last one for every other number.
  absl::Status EmitBranches(const HloInstruction& conditional, Value* selector, int64_t first) {
    const auto branch = [&]() -> absl::Status {
      TF_RETURN_IF_ERROR(EmitSequence(*conditional.branch_computation(first)));
      Synchronize();
      return absl::OkStatus();
    };
    if (first + 1 == conditional.branch_count()) return branch();
    Value* taken = selector->getType()->isIntegerTy(1)
                       ? selector
                       : kernel_.b().CreateICmpEQ(
                             selector, llvm::ConstantInt::get(selector->getType(), first));
    return kernel_.IfElse(taken, branch,
                          [&] { return EmitBranches(conditional, selector, first + 1); });
  }

  absl::Status EmitOperation(const HloInstruction& instruction) {
    Slices reads;
    for (const HloInstruction* operand : instruction.operands()) {
      TF_ASSIGN_OR_RETURN(const Slices slices, memory_.Slices(*operand));
      reads.insert(reads.end(), slices.begin(), slices.end());
    }
    TF_ASSIGN_OR_RETURN(const Slices writes, memory_.Slices(instruction));
    if (pending_.Conflict(reads, writes)) Synchronize();
    pending_.Add(reads, writes);

    const bool is_fusion = instruction.opcode() == HloOpcode::kFusion;
    for (int64_t i = 0; i < instruction.operand_count(); ++i) {
      const HloInstruction& leaf =
          is_fusion ? *instruction.fused_parameter(i) : *instruction.operand(i);
      TF_ASSIGN_OR_RETURN(std::vector<Array> arrays,
                          memory_.Arrays(*instruction.operand(i), kernel_));
      kernel_.BindArrays(leaf, std::move(arrays));
    }
    TF_ASSIGN_OR_RETURN(const std::vector<Array> results, memory_.Arrays(instruction, kernel_));
    return work_.Emit(RootOf(instruction), results);
  }

  FusionContext& kernel_;
  RegionMemory& memory_;
  RegionWork work_;
  PendingAccesses pending_;
};

absl::Status WriteKernel(const HloInstruction& instruction, std::optional<int64_t> max_steps,
                         int64_t work_items, RegionMemory& memory, const Target& target,
                         llvm::Function& function) {
  const bool is_narrow = target.schedules->has_narrow_index_sums && FitsInt32(instruction);
  auto* index_type = llvm::Type::getIntNTy(function.getContext(), is_narrow ? 32 : 64);
  FusionContext kernel(instruction, target, function, index_type, /*wide_places=*/!is_narrow);
  // The entry block holds addresses and variables only.
  llvm::BasicBlock* body = llvm::BasicBlock::Create(function.getContext(), "body", &function);
  kernel.b().CreateBr(body);
  kernel.b().SetInsertPoint(body);
  TF_RETURN_IF_ERROR(RegionEmitter(kernel, memory, work_items).EmitRegion(instruction, max_steps));
  kernel.b().CreateRetVoid();
  std::string complaint;
  llvm::raw_string_ostream stream(complaint);
  if (llvm::verifyFunction(function, &stream)) {
    return absl::InternalError(
        absl::StrCat("onexpu: malformed IR for ", instruction.ToString(), ": ", complaint));
  }
  return absl::OkStatus();
}

}  // namespace

bool RegionFitsArguments(const HloInstruction& instruction, const xla::BufferAssignment& assignment,
                         const Target& target) {
  RegionMemory memory(assignment);
  // EmitSmallRegion fails in the same way and reports the error.
  if (!memory.Collect(instruction).ok()) return true;
  return memory.argument_count() <= MaxKernelArguments(target);
}

absl::StatusOr<KernelLaunch> EmitSmallRegion(const HloInstruction& instruction,
                                             const xla::BufferAssignment& assignment,
                                             const Target& target, llvm::Module& module,
                                             const std::string& name) {
  RegionMemory memory(assignment);
  TF_RETURN_IF_ERROR(memory.Collect(instruction));
  llvm::Type* pointer = llvm::PointerType::get(module.getContext(), kGlobalAddressSpace);
  auto* type =
      llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()),
                              std::vector<llvm::Type*>(memory.argument_count(), pointer), false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  function->setCallingConv(llvm::CallingConv::SPIR_KERNEL);
  function->setDoesNotThrow();
  const int64_t items = RegionWorkItems(instruction, target);
  // The arguments do not overlap, but several work-items must not have them marked `noalias`: LLVM
  // takes that as a promise that no other work-item writes there, and would reuse values loaded
  // before a barrier.
  if (items == 1) {
    for (llvm::Argument& argument : function->args()) argument.addAttr(llvm::Attribute::NoAlias);
  }
  const std::optional<int64_t> max_steps = MaxStepsPerLaunch(instruction, target);
  if (absl::Status status = WriteKernel(instruction, max_steps, items, memory, target, *function);
      !status.ok()) {
    function->eraseFromParent();
    return status;
  }
  const uint64_t size = items;
  SetWorkGroupSize(*function, {{size}, {size}}, target);
  KernelLaunch launch;
  launch.entry_point = name;
  launch.global_size = launch.local_size = {size};
  launch.arguments = memory.Arguments();
  launch.is_part_of_loop = max_steps.has_value();
  return launch;
}

}  // namespace onexpu::compiler
