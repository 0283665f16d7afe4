// From scheduled HLO instructions to SPIR-V kernels: the narrow seam between `emit/` (which walks
// the schedule and writes thunks) and `codegen/` (which knows LLVM). One object per compiled
// module. Thread-compatible: each compile owns one.
#ifndef PJRT_CORE_COMPILER_CODEGEN_KERNEL_CODEGEN_H_
#define PJRT_CORE_COMPILER_CODEGEN_KERNEL_CODEGEN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/codegen/kernel_launch.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/service/buffer_assignment.h"

namespace onexpu::compiler {

// One SPIR-V module: the kernels of one instruction or of several. Modules are built at the same
// time, and those that programs have in common are built once.
struct CompiledModule {
  std::string name;  // of its first entry point, and "_and_N" for N more instructions
  std::string spirv;
  std::string ir_before;  // textual LLVM IR for dumps, only when asked for
  std::string ir_after;
};

struct CodegenOptions {
  Target target;
  std::string spirv_worker;  // path of onexpu-spirv
  bool keep_ir = false;
  bool is_resizable = false;  // of a module that CheckResizable accepts
};

class KernelCodegen {
 public:
  static absl::StatusOr<std::unique_ptr<KernelCodegen>> Create(
      const xla::BufferAssignment& assignment, CodegenOptions options);
  virtual ~KernelCodegen() = default;

  // Emits the kernels that compute `instruction`, in launch order. `instruction` is a kFusion (all
  // elementwise and data movement work is wrapped into fusions before scheduling), or one of kSort,
  // kScatter, kSelectAndScatter, kReduceWindow, kRngGetAndUpdateState, kCopy, kIota... left alone
  // by fusion. Identical computations are emitted once: the launches then share an entry point.
  // UNIMPLEMENTED names the op and its shapes.
  virtual absl::StatusOr<std::vector<KernelLaunch>> Emit(
      const xla::HloInstruction& instruction) = 0;

  // True when the whole `instruction` (kWhile, kCall, kConditional) fits one work-group as one
  // kernel; then EmitRegion gives that kernel with the control flow inside.
  virtual bool IsSmallRegion(const xla::HloInstruction& instruction) const = 0;
  virtual absl::StatusOr<KernelLaunch> EmitRegion(const xla::HloInstruction& instruction) = 0;

  // Optimises, legalises and emits everything, several modules at a time.
  virtual absl::StatusOr<std::vector<CompiledModule>> Finish() = 0;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_KERNEL_CODEGEN_H_
