// From a scheduled module with buffers to the bytes of a Program. Stateless; one call per compile.
#ifndef PJRT_CORE_COMPILER_EMIT_PROGRAM_EMITTER_H_
#define PJRT_CORE_COMPILER_EMIT_PROGRAM_EMITTER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/analysis/resizable.h"
#include "pjrt_core/compiler/codegen/kernel_codegen.h"
#include "pjrt_core/compiler/passes/dynamic_shapes/dynamic_results.h"
#include "pjrt_core/program/container.h"
#include "pjrt_core/program/program_generated.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/service/buffer_assignment.h"

namespace onexpu::compiler {

// What a Program says beyond what its module does.
struct ProgramDescription {
  const program::TargetDescription* target = nullptr;
  std::string compiler_version;
  std::string fingerprint;
  absl::string_view compile_options;  // as they arrived
  std::vector<program::MemoryKind> parameter_memory;
  std::vector<program::MemoryKind> result_memory;
  std::vector<DynamicDimension> dynamic_dimensions;  // as PackDynamicResults returned them
  ResizableExtents extents;
};

struct EmittedProgram {
  program::AlignedBytes bytes;
  std::vector<CompiledModule> modules;  // for dumps
  std::string thunk_sequence;           // readable, for dumps
};

// Moves large literals out of the module, which has no use afterwards.
absl::StatusOr<EmittedProgram> EmitProgram(xla::HloModule& module,
                                           const xla::BufferAssignment& assignment,
                                           KernelCodegen& codegen,
                                           const ProgramDescription& description);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_EMIT_PROGRAM_EMITTER_H_
