// Verifies what makes a Program resizable (program.fbs).
#ifndef PJRT_CORE_PROGRAM_VERIFY_RESIZABLE_H_
#define PJRT_CORE_PROGRAM_VERIFY_RESIZABLE_H_

#include "absl/status/status.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu::program {

// After the verification of all else.
absl::Status VerifyResizable(const Program& program);

}  // namespace onexpu::program

#endif  // PJRT_CORE_PROGRAM_VERIFY_RESIZABLE_H_
