// Every module through SPIRV-Tools' validator, on request: what the project's own tests run with.
#ifndef PJRT_CORE_COMPILER_CODEGEN_LLVM_SPIRV_VALIDATION_H_
#define PJRT_CORE_COMPILER_CODEGEN_LLVM_SPIRV_VALIDATION_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace onexpu::compiler {

// With ONEXPU_VERIFY_SPIRV=1 in the environment: INTERNAL with the validator's words when the
// module is invalid. Otherwise OK at once. Any thread may call.
absl::Status ValidateSpirv(absl::string_view spirv);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_LLVM_SPIRV_VALIDATION_H_
