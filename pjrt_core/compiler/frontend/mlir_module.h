// StableHLO in any of its forms (bytecode, portable artifact, text) to an HloModuleProto, through
// XLA's own conversion.
//
// The only file that names MLIR's classes. TensorFlow's wheel has no LLVM headers, so it declares
// the few that cross the calls. Stateless: every call has a context of its own; any thread.
#ifndef PJRT_CORE_COMPILER_FRONTEND_MLIR_MODULE_H_
#define PJRT_CORE_COMPILER_FRONTEND_MLIR_MODULE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/pjrt/layout_mode.h"
#include "xla/service/hlo.pb.h"

namespace onexpu::compiler {

struct ConvertedMlirModule {
  xla::HloModuleProto proto;
  // Per argument and result of `main`, from mhlo.layout_mode and mhlo.memory_kind.
  std::vector<xla::LayoutMode> argument_layouts;
  std::vector<xla::LayoutMode> result_layouts;
  std::vector<int> argument_memory_spaces;  // xla::Layout's memory spaces
  std::vector<int> result_memory_spaces;
};

// INVALID_ARGUMENT for bytes that are no module.
absl::StatusOr<ConvertedMlirModule> ConvertMlirModule(absl::string_view code);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_FRONTEND_MLIR_MODULE_H_
