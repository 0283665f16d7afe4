// Checks of the thunk tree, a part of the verifier. Pure; any thread.
#ifndef PJRT_CORE_PROGRAM_VERIFY_THUNKS_H_
#define PJRT_CORE_PROGRAM_VERIFY_THUNKS_H_

#include "absl/status/status.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu::program {

// Allocations, modules and kernels of `program` are verified already.
absl::Status VerifyThunks(const Program& program, const ThunkSequence& sequence);

}  // namespace onexpu::program

#endif  // PJRT_CORE_PROGRAM_VERIFY_THUNKS_H_
