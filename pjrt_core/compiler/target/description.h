// The compile target: the request's FlatBuffer, verified, and code generation's plain copy of it.
// Pure functions.
#ifndef PJRT_CORE_COMPILER_TARGET_DESCRIPTION_H_
#define PJRT_CORE_COMPILER_TARGET_DESCRIPTION_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/target/target.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu::compiler {

// The result points into `bytes`. INVALID_ARGUMENT for what is no target description.
absl::StatusOr<const program::TargetDescription*> ParseTarget(absl::string_view bytes);

Target ToTarget(const program::TargetDescription& description);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_TARGET_DESCRIPTION_H_
