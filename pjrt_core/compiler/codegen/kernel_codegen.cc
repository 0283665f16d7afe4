#include "pjrt_core/compiler/codegen/kernel_codegen.h"

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "pjrt_core/compiler/codegen/computation_text.h"
#include "pjrt_core/compiler/codegen/kernel_arguments.h"
#include "pjrt_core/compiler/codegen/kernel_sequence.h"
#include "pjrt_core/compiler/codegen/module_to_spirv.h"
#include "pjrt_core/compiler/codegen/region_emitter.h"
#include "pjrt_core/compiler/codegen/schedule_selector.h"
#include "pjrt_core/compiler/codegen/small_region.h"
#include "pjrt_core/compiler/codegen/spirv_target.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

std::string KernelName(absl::string_view instruction_name, int64_t number) {
  constexpr size_t kLength = 48;
  std::string name;
  for (char c : instruction_name.substr(0, kLength)) name += absl::ascii_isalnum(c) ? c : '_';
  return absl::StrCat(name, "_k", number);
}

class KernelCodegenImpl final : public KernelCodegen {
 public:
  KernelCodegenImpl(const xla::BufferAssignment& assignment, CodegenOptions options,
                    std::unique_ptr<llvm::TargetMachine> machine, const std::string& name)
      : assignment_(assignment),
        options_(std::move(options)),
        machine_(std::move(machine)),
        module_(CreateSpirvModule(name, context_, *machine_)) {}

  absl::StatusOr<std::vector<KernelLaunch>> Emit(const xla::HloInstruction& instruction) override;
  bool IsSmallRegion(const xla::HloInstruction& instruction) const override {
    return compiler::IsSmallRegion(instruction, options_.target);
  }
  absl::StatusOr<KernelLaunch> EmitRegion(const xla::HloInstruction& instruction) override;
  absl::StatusOr<CompiledKernels> Finish() override;

 private:
  struct Emitted {
    std::vector<KernelSequence::Kernel> kernels;
    std::vector<KernelSequence::ScratchRequest> scratch;
  };

  // Everything runs in order, so sequences may use the same scratch one after the other.
  Scratch ScratchFor(int64_t bytes, bool is_state, int64_t ordinal) {
    auto [entry, inserted] =
        scratch_ids_.try_emplace({bytes, is_state, ordinal}, scratch_ids_.size());
    return {entry->second, bytes};
  }

  const xla::BufferAssignment& assignment_;
  const CodegenOptions options_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  absl::flat_hash_map<std::string, Emitted> emitted_;
  std::map<std::tuple<int64_t, bool, int64_t>, int64_t> scratch_ids_;
  std::vector<std::string> entry_points_;
};

absl::StatusOr<std::vector<KernelLaunch>> KernelCodegenImpl::Emit(
    const xla::HloInstruction& instruction) {
  TF_ASSIGN_OR_RETURN(KernelArguments arguments, KernelArguments::Create(instruction, assignment_));
  const std::string key = absl::StrCat(ComputationText(instruction), "|", arguments.Signature());
  auto found = emitted_.find(key);
  if (found == emitted_.end()) {
    KernelSequence sequence(instruction, arguments, options_.target, *module_,
                            KernelName(instruction.name(), emitted_.size()));
    if (absl::Status status = EmitWithSchedule(sequence); !status.ok()) {
      sequence.Discard();
      return status;
    }
    for (const KernelSequence::Kernel& kernel : sequence.kernels())
      entry_points_.push_back(kernel.entry_point);
    found = emitted_.emplace(key, Emitted{sequence.kernels(), sequence.scratch()}).first;
  }

  std::vector<KernelArgument> launch_arguments;
  for (const KernelArguments::Argument& argument : arguments.arguments()) {
    launch_arguments.emplace_back().slice = argument.slice;
  }
  for (size_t i = 0; i < found->second.scratch.size(); ++i) {
    const KernelSequence::ScratchRequest& request = found->second.scratch[i];
    KernelArgument& argument = launch_arguments.emplace_back();
    argument.scratch = ScratchFor(request.bytes, request.is_state, i);
    argument.is_state = request.is_state;
  }
  std::vector<KernelLaunch> launches;
  for (const KernelSequence::Kernel& kernel : found->second.kernels) {
    launches.push_back(
        {kernel.entry_point, kernel.launch.global, kernel.launch.local, launch_arguments});
  }
  return launches;
}

absl::StatusOr<KernelLaunch> KernelCodegenImpl::EmitRegion(const xla::HloInstruction& instruction) {
  const std::string name =
      absl::StrCat(KernelName(instruction.name(), entry_points_.size()), "_region");
  TF_ASSIGN_OR_RETURN(KernelLaunch launch,
                      EmitSmallRegion(instruction, assignment_, options_.target, *module_, name));
  entry_points_.push_back(launch.entry_point);
  return launch;
}

absl::StatusOr<CompiledKernels> KernelCodegenImpl::Finish() {
  CompiledKernels result;
  result.entry_points = entry_points_;
  if (entry_points_.empty()) return result;
  if (options_.keep_ir) result.ir_before = ToText(*module_);
  LegalizerOptions legalizer;
  legalizer.has_fp64 = options_.target.has_fp64;
  legalizer.spirv_extensions = options_.target.spirv_extensions;
  TF_ASSIGN_OR_RETURN(result.spirv,
                      ModuleToSpirv(*module_, *machine_, legalizer, options_.spirv_worker));
  if (options_.keep_ir) result.ir_after = ToText(*module_);
  return result;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelCodegen>> KernelCodegen::Create(
    const xla::HloModule& module, const xla::BufferAssignment& assignment, CodegenOptions options) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, CreateSpirvTargetMachine());
  return std::make_unique<KernelCodegenImpl>(assignment, std::move(options), std::move(machine),
                                             std::string(module.name()));
}

}  // namespace onexpu::compiler
