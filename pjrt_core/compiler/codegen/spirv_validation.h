// Every module through spirv-val, on request: what the project's own tests run with.
#ifndef PJRT_CORE_COMPILER_CODEGEN_SPIRV_VALIDATION_H_
#define PJRT_CORE_COMPILER_CODEGEN_SPIRV_VALIDATION_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace onexpu::compiler {

// With ONEXPU_VERIFY_SPIRV=1 in the environment: INTERNAL with spirv-val's words when the module is
// invalid, and when spirv-val cannot be run (a check that does not happen must not pass). Otherwise
// OK at once. Any thread may call.
absl::Status ValidateSpirv(absl::string_view spirv);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_SPIRV_VALIDATION_H_
