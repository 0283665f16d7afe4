// A small region as one kernel of one work-group: the control flow inside, a barrier where one
// operation needs another's result. Writes one kernel; thread-compatible.
#ifndef PJRT_CORE_COMPILER_CODEGEN_REGION_REGION_EMITTER_H_
#define PJRT_CORE_COMPILER_CODEGEN_REGION_REGION_EMITTER_H_

#include <string>

#include "absl/status/statusor.h"
#include "llvm/IR/Module.h"
#include "pjrt_core/compiler/codegen/kernel_launch.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/service/buffer_assignment.h"

namespace onexpu::compiler {

// Whether the arguments of the region's kernel, one for each allocation that it uses, are within
// the target's limit (MaxKernelArguments).
bool RegionFitsArguments(const xla::HloInstruction& instruction,
                         const xla::BufferAssignment& assignment, const Target& target);

// For instructions that IsSmallRegion accepts. Leaves nothing in `module` on failure.
absl::StatusOr<KernelLaunch> EmitSmallRegion(const xla::HloInstruction& instruction,
                                             const xla::BufferAssignment& assignment,
                                             const Target& target, llvm::Module& module,
                                             const std::string& name);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_REGION_REGION_EMITTER_H_
