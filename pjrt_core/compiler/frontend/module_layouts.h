// Which layouts a module's arguments and results have: the caller's wish, or row-major. Stateless;
// any thread.
#ifndef PJRT_CORE_COMPILER_FRONTEND_MODULE_LAYOUTS_H_
#define PJRT_CORE_COMPILER_FRONTEND_MODULE_LAYOUTS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/pjrt/layout_mode.h"
#include "xla/pjrt/proto/compile_options.pb.h"
#include "xla/service/computation_layout.h"

namespace onexpu::compiler {

// argument_layouts and result_layout of the compile options.
absl::Status ApplyOptionLayouts(const xla::CompileOptionsProto& options,
                                xla::ComputationLayout& layout);

// mhlo.layout_mode of the arguments and results of an MLIR module, whose arguments and results are
// not nested. A layout left to the compiler stays unset.
absl::Status ApplyLayoutModes(absl::Span<const xla::LayoutMode> arguments,
                              absl::Span<const xla::LayoutMode> results,
                              xla::ComputationLayout& layout);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_FRONTEND_MODULE_LAYOUTS_H_
