// What arrives at PJRT_Client_Compile as an HloModule that is ready for the pass pipeline.
// Stateless; any thread.
#ifndef PJRT_CORE_COMPILER_FRONTEND_LOAD_MODULE_H_
#define PJRT_CORE_COMPILER_FRONTEND_LOAD_MODULE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/program/program_generated.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/pjrt/proto/compile_options.pb.h"
#include "xla/xla.pb.h"

namespace onexpu::compiler {

struct LoadedModule {
  std::unique_ptr<xla::HloModule> module;
  // Per flattened argument and result; empty: all in device memory.
  std::vector<program::MemoryKind> parameter_memory;
  std::vector<program::MemoryKind> result_memory;
};

// `format` is "mlir", "hlo" or "hlo_with_config". INVALID_ARGUMENT for what is no module,
// UNIMPLEMENTED by name for what no later stage could take.
absl::StatusOr<LoadedModule> LoadModule(absl::string_view code, absl::string_view format,
                                        const xla::CompileOptionsProto& options,
                                        const xla::DebugOptions& debug_options);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_FRONTEND_LOAD_MODULE_H_
