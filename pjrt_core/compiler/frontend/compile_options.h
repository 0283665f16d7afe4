// The compile options of a request: parsed, and with the caller's overrides of XLA's debug options
// (JAX's `compiler_options`) carried out. Stateless; any thread.
#ifndef PJRT_CORE_COMPILER_FRONTEND_COMPILE_OPTIONS_H_
#define PJRT_CORE_COMPILER_FRONTEND_COMPILE_OPTIONS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/pjrt/proto/compile_options.pb.h"

namespace onexpu::compiler {

// INVALID_ARGUMENT for bytes that are no xla.CompileOptionsProto, for an override that names no
// field of xla.DebugOptions, and for a value that does not fit the field.
absl::StatusOr<xla::CompileOptionsProto> ParseCompileOptions(absl::string_view bytes);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_FRONTEND_COMPILE_OPTIONS_H_
