// The part of the verifier that knows transforms and factorisations. Stateless.
#ifndef PJRT_CORE_PROGRAM_VERIFY_LINEAR_ALGEBRA_H_
#define PJRT_CORE_PROGRAM_VERIFY_LINEAR_ALGEBRA_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu::program {

// Slices, types and dimensions of a thunk of one of these kinds.
absl::Status VerifyLinearAlgebra(const Program& program, const Thunk& thunk,
                                 absl::string_view where);

}  // namespace onexpu::program

#endif  // PJRT_CORE_PROGRAM_VERIFY_LINEAR_ALGEBRA_H_
