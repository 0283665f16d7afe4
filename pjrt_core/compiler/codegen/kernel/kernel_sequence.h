// The kernels of one instruction: a schedule begins and ends them one after the other, in launch
// order. Owned by KernelCodegen for the time of one Emit; thread-compatible.
#ifndef PJRT_CORE_COMPILER_CODEGEN_KERNEL_KERNEL_SEQUENCE_H_
#define PJRT_CORE_COMPILER_CODEGEN_KERNEL_KERNEL_SEQUENCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "llvm/IR/Module.h"
#include "pjrt_core/compiler/analysis/launch_dimensions.h"
#include "pjrt_core/compiler/codegen/elemental/fusion_context.h"
#include "pjrt_core/compiler/codegen/kernel/kernel_arguments.h"
#include "pjrt_core/compiler/target/target.h"

namespace onexpu::compiler {

// Whether 32-bit indices are enough for an instruction and all that it calls. They should be used
// where they are: division of 64-bit numbers is slow everywhere.
bool FitsInt32(const xla::HloInstruction& instruction);

// Sets the kernel's work-group size (SPIR-V's LocalSize). It tells a GPU's compiler which
// work-items are adjacent and how many registers each may use. Does nothing for a CPU.
void SetWorkGroupSize(llvm::Function& kernel, const LaunchDimensions& launch, const Target& target);

class KernelSequence {
 public:
  struct Kernel {
    std::string entry_point;
    LaunchDimensions launch;
    // Indices of its arguments: the instruction's distinct buffers come first, then all scratch.
    std::vector<int64_t> arguments;
  };

  // Kernels of a resizable sequence take the extents of a run as two more arguments, i64, and have
  // the loop schedule (analysis/resizable.h).
  KernelSequence(const xla::HloInstruction& instruction, const KernelArguments& arguments,
                 const Target& target, llvm::Module& module, std::string name, bool is_resizable)
      : instruction_(instruction),
        arguments_(arguments),
        target_(target),
        module_(module),
        name_(std::move(name)),
        is_resizable_(is_resizable) {}

  const xla::HloInstruction& instruction() const { return instruction_; }
  const KernelArguments& arguments() const { return arguments_; }
  const Target& target() const { return target_; }
  bool is_resizable() const { return is_resizable_; }

  // Device memory that all kernels of the sequence share. To be declared before the first Begin;
  // the number is for FusionContext::scratch. State lives as long as the loaded Program and starts
  // as zeros.
  int64_t AddScratch(int64_t bytes, bool is_state = false);

  // Starts a kernel; its arguments are the instruction's distinct buffers and every scratch. If
  // these are more than the target accepts (MaxKernelArguments), the sequence begins with kernels
  // that write them into a table in device memory, and the table is the only argument of the
  // others. Kernels write the table, not the host, because addresses differ from run to run.
  absl::StatusOr<std::unique_ptr<FusionContext>> Begin(absl::string_view suffix = "");
  absl::Status End(std::unique_ptr<FusionContext> kernel, LaunchDimensions launch);

  // One more launch of the `kernel`-th of kernels(), after those so far.
  void LaunchAgain(int64_t kernel) { kernels_.push_back(Kernel(kernels_[kernel])); }

  // Takes back everything that was begun, after an error or when nothing needs computing.
  void Discard(std::unique_ptr<FusionContext> kernel = nullptr);

  struct ScratchRequest {
    int64_t bytes;
    bool is_state;
  };
  const std::vector<ScratchRequest>& scratch() const { return scratch_; }
  const std::vector<Kernel>& kernels() const { return kernels_; }

 private:
  bool HasTable() const { return table_ >= 0; }
  // The kernels that write the table, once.
  void WriteTable();
  llvm::Function* CreateKernel(absl::string_view suffix, size_t arguments);
  void AddKernel(llvm::Function& function, LaunchDimensions launch, std::vector<int64_t> arguments);

  const xla::HloInstruction& instruction_;
  const KernelArguments& arguments_;
  const Target& target_;
  llvm::Module& module_;
  std::string name_;
  const bool is_resizable_;
  std::vector<ScratchRequest> scratch_;
  int64_t table_ = -1;  // the scratch of the pointer table
  std::vector<llvm::Function*> functions_;
  std::vector<Kernel> kernels_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_KERNEL_KERNEL_SEQUENCE_H_
