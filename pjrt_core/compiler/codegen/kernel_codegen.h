// From scheduled HLO instructions to SPIR-V kernels: the narrow seam between `emit/` (which walks
// the schedule and writes thunks) and `codegen/` (which knows LLVM). One object per compiled
// module. Thread-compatible: each compile owns one.
#ifndef PJRT_CORE_COMPILER_CODEGEN_KERNEL_CODEGEN_H_
#define PJRT_CORE_COMPILER_CODEGEN_KERNEL_CODEGEN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/service/buffer_assignment.h"

namespace onexpu::compiler {

// A plain copy of program.TargetDescription.
struct Target {
  std::string name = "cpu";
  bool is_gpu = false;
  bool gpu_schedules = false;
  uint32_t compute_units = 1;
  uint32_t max_work_group_size = 1024;
  uint64_t local_memory_bytes = 32 << 10;
  std::vector<uint32_t> sub_group_sizes;
  bool has_fp64 = true;
  bool has_fp16 = false;
  bool has_bf16 = false;  // oneDNN primitives
  bool has_s8 = false;    // oneDNN primitives whose sums of s32 are exact
  bool has_int64_atomics = true;
  uint64_t max_allocation_bytes = 0;  // of a single allocation; 0: as large as the memory
  std::vector<std::string> spirv_extensions;
};

// Scratch that a kernel needs beyond the buffer assignment (e.g. a sort's ping-pong buffer); emit/
// appends it to the Program's temporaries. `id` is unique per module; the same id is the same
// memory.
struct Scratch {
  int64_t id = -1;
  int64_t bytes = 0;
};

struct KernelArgument {
  xla::BufferAllocation::Slice slice;  // unset when `scratch` is used
  Scratch scratch;
  bool is_state = false;  // `scratch` lives as long as the loaded Program, zero-initialised
};

struct KernelLaunch {
  int64_t module = 0;  // of those that Finish gives
  std::string entry_point;
  absl::InlinedVector<uint64_t, 3> global_size;  // SYCL's order, slowest first
  absl::InlinedVector<uint64_t, 3> local_size;   // same rank, divides global_size
  std::vector<KernelArgument> arguments;
  // Of a region that is a loop: a launch takes some of its steps, and further ones go on until the
  // loop's condition is false.
  bool is_part_of_loop = false;
};

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
