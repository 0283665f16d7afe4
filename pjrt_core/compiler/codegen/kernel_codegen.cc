#include "pjrt_core/compiler/codegen/kernel_codegen.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "pjrt_core/compiler/analysis/small_region.h"
#include "pjrt_core/compiler/codegen/kernel/computation_text.h"
#include "pjrt_core/compiler/codegen/kernel/kernel_arguments.h"
#include "pjrt_core/compiler/codegen/kernel/kernel_sequence.h"
#include "pjrt_core/compiler/codegen/llvm/module_to_spirv.h"
#include "pjrt_core/compiler/codegen/llvm/spirv_target.h"
#include "pjrt_core/compiler/codegen/region/region_emitter.h"
#include "pjrt_core/compiler/codegen/schedules/schedule_selector.h"
#include "tsl/platform/cpu_info.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/env.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/tsl/platform/threadpool.h"

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
                    std::unique_ptr<llvm::TargetMachine> machine)
      : assignment_(assignment), options_(std::move(options)), machine_(std::move(machine)) {}

  absl::StatusOr<std::vector<KernelLaunch>> Emit(const xla::HloInstruction& instruction) override;
  bool IsSmallRegion(const xla::HloInstruction& instruction) const override {
    return compiler::IsSmallRegion(instruction, options_.target) &&
           RegionFitsArguments(instruction, assignment_, options_.target);
  }
  absl::StatusOr<KernelLaunch> EmitRegion(const xla::HloInstruction& instruction) override;
  absl::StatusOr<std::vector<CompiledModule>> Finish() override;

 private:
  // Each has a context of its own, so that threads can work on several.
  struct Module {
    Module(const std::string& name, const llvm::TargetMachine& machine)
        : context(std::make_unique<llvm::LLVMContext>()),
          module(CreateSpirvModule(name, *context, machine)) {}
    std::unique_ptr<llvm::LLVMContext> context;
    std::unique_ptr<llvm::Module> module;
    int64_t sequences = 0;  // of kernels
    size_t instructions = 0;
  };
  struct Emitted {
    int64_t module;
    std::vector<KernelSequence::Kernel> kernels;
    std::vector<KernelSequence::ScratchRequest> scratch;
  };

  // Everything runs in order, so sequences may use the same scratch one after the other.
  Scratch ScratchFor(int64_t bytes, bool is_state, int64_t ordinal) {
    auto [entry, inserted] =
        scratch_ids_.try_emplace({bytes, is_state, ordinal}, scratch_ids_.size());
    return {entry->second, bytes};
  }

  // The number of the module that takes the next kernels; `name` is for a new one.
  int64_t OpenModule(const std::string& name);
  // What was begun in the module has ended, with kernels or without any.
  void CloseSequence(int64_t number, bool has_kernels);

  absl::StatusOr<CompiledModule> FinishModule(const Module& module) const;

  const xla::BufferAssignment& assignment_;
  const CodegenOptions options_;
  const std::unique_ptr<llvm::TargetMachine> machine_;
  std::vector<Module> modules_;
  std::vector<int64_t> open_;  // of modules_, those that still take kernels
  int64_t kernels_named_ = 0;
  absl::flat_hash_map<std::string, Emitted> emitted_;
  std::map<std::tuple<int64_t, bool, int64_t>, int64_t> scratch_ids_;
};

// The device's compiler needs longer to start a module (27 ms on a CPU) than for most kernels (18
// ms), and builds several modules concurrently. So there are as many open modules as are built
// concurrently, and the smallest open module gets the next kernel until all exceed a minimum size.
// Then as many new modules are opened, so that the last ones also finish together. Twice as many
// modules take a sixth longer. A program that differs from an earlier one in some kernels shares
// the other modules.
int64_t KernelCodegenImpl::OpenModule(const std::string& name) {
  constexpr size_t kMaxOpenModules = 16;
  // A kernel has some hundreds of instructions.
  constexpr size_t kMinModuleInstructions = 4000;
  const size_t at_once = std::clamp<size_t>(options_.target.compute_units, 1, kMaxOpenModules);
  if (open_.size() == at_once) {
    const auto least = std::min_element(open_.begin(), open_.end(), [&](int64_t a, int64_t b) {
      return modules_[a].instructions < modules_[b].instructions;
    });
    if (modules_[*least].instructions < kMinModuleInstructions) return *least;
    open_.clear();
  }
  open_.push_back(static_cast<int64_t>(modules_.size()));
  modules_.emplace_back(name, *machine_);
  return open_.back();
}

void KernelCodegenImpl::CloseSequence(int64_t number, bool has_kernels) {
  Module& module = modules_[number];
  if (has_kernels) {
    ++module.sequences;
    module.instructions = module.module->getInstructionCount();
  } else if (module.sequences == 0) {  // it was opened for them
    open_.pop_back();
    modules_.pop_back();
  }
}

absl::StatusOr<std::vector<KernelLaunch>> KernelCodegenImpl::Emit(
    const xla::HloInstruction& instruction) {
  TF_ASSIGN_OR_RETURN(KernelArguments arguments, KernelArguments::Create(instruction, assignment_));
  const std::string key = absl::StrCat(ComputationText(instruction), "|", arguments.Signature());
  auto found = emitted_.find(key);
  if (found == emitted_.end()) {
    const std::string name = KernelName(instruction.name(), kernels_named_++);
    const int64_t number = OpenModule(name);
    KernelSequence sequence(instruction, arguments, options_.target, *modules_[number].module, name,
                            options_.is_resizable);
    const absl::Status emitted = EmitWithSchedule(sequence);
    if (!emitted.ok()) sequence.Discard();
    CloseSequence(number, !sequence.kernels().empty());
    TF_RETURN_IF_ERROR(emitted);
    found = emitted_.emplace(key, Emitted{number, sequence.kernels(), sequence.scratch()}).first;
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
    KernelLaunch& launch = launches.emplace_back();
    launch.module = found->second.module;
    launch.entry_point = kernel.entry_point;
    launch.global_size = kernel.launch.global;
    launch.local_size = kernel.launch.local;
    launch.takes_extents = options_.is_resizable;
    for (int64_t argument : kernel.arguments) {
      launch.arguments.push_back(launch_arguments[argument]);
    }
  }
  return launches;
}

absl::StatusOr<KernelLaunch> KernelCodegenImpl::EmitRegion(const xla::HloInstruction& instruction) {
  const std::string name =
      absl::StrCat(KernelName(instruction.name(), kernels_named_++), "_region");
  const int64_t number = OpenModule(name);
  llvm::Module& module = *modules_[number].module;
  absl::StatusOr<KernelLaunch> launch =
      EmitSmallRegion(instruction, assignment_, options_.target, module, name);
  if (launch.ok()) {
    launch->module = number;
  } else if (llvm::Function* begun = module.getFunction(name); begun != nullptr) {
    begun->eraseFromParent();
  }
  CloseSequence(number, launch.ok());
  return launch;
}

absl::StatusOr<CompiledModule> KernelCodegenImpl::FinishModule(const Module& owned) const {
  llvm::Module& module = *owned.module;
  CompiledModule result;
  result.name = module.getModuleIdentifier();
  if (owned.sequences > 1) absl::StrAppend(&result.name, "_and_", owned.sequences - 1);
  if (options_.keep_ir) result.ir_before = ToText(module);
  LegalizerOptions legalizer;
  legalizer.has_fp64 = options_.target.has_fp64;
  legalizer.is_for_cpu_driver = options_.target.device->is_for_cpu_driver;
  legalizer.spirv_extensions = options_.target.spirv_extensions;
  // Of its own: a TargetMachine fills its tables as it is used.
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<llvm::TargetMachine> machine,
                      CreateSpirvTargetMachine());
  TF_ASSIGN_OR_RETURN(result.spirv,
                      ModuleToSpirv(module, *machine, legalizer, options_.spirv_worker));
  if (options_.keep_ir) result.ir_after = ToText(module);
  return result;
}

absl::StatusOr<std::vector<CompiledModule>> KernelCodegenImpl::Finish() {
  std::vector<absl::StatusOr<CompiledModule>> finished(modules_.size());
  const auto finish = [&](size_t i) { finished[i] = FinishModule(modules_[i]); };
  const int threads = std::min<int>(static_cast<int>(modules_.size()), tsl::port::MaxParallelism());
  if (threads > 1) {
    // Its destructor waits for everything.
    tsl::thread::ThreadPool pool(tsl::Env::Default(), "onexpu_codegen", threads);
    for (size_t i = 0; i < modules_.size(); ++i) pool.Schedule([&finish, i] { finish(i); });
  } else {
    for (size_t i = 0; i < modules_.size(); ++i) finish(i);
  }
  std::vector<CompiledModule> result;
  for (absl::StatusOr<CompiledModule>& module : finished) {
    TF_RETURN_IF_ERROR(module.status());
    result.push_back(*std::move(module));
  }
  return result;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelCodegen>> KernelCodegen::Create(
    const xla::BufferAssignment& assignment, CodegenOptions options) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, CreateSpirvTargetMachine());
  return std::make_unique<KernelCodegenImpl>(assignment, std::move(options), std::move(machine));
}

}  // namespace onexpu::compiler
