// From a caller's program to a Program: what PJRT_Client_Compile and PJRT_Compile share.
//
// Any thread.
#ifndef PJRT_CORE_C_API_EXECUTABLE_COMPILATION_H_
#define PJRT_CORE_C_API_EXECUTABLE_COMPILATION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "pjrt_core/program/container.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::c_api {

// `target` is a FlatBuffer of program.TargetDescription.
absl::StatusOr<program::Container> CompileProgram(const PJRT_Program& program,
                                                  absl::string_view compile_options,
                                                  absl::Span<const uint8_t> target);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXECUTABLE_COMPILATION_H_
