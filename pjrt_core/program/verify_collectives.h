// Checks of the thunks by which devices that run one Program together exchange data. Pure
// functions.
#ifndef PJRT_CORE_PROGRAM_VERIFY_COLLECTIVES_H_
#define PJRT_CORE_PROGRAM_VERIFY_COLLECTIVES_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu::program {

absl::Status VerifyCollective(const Program& program, const CollectiveThunk& thunk,
                              absl::string_view where);
absl::Status VerifyParticipantId(const Program& program, const ParticipantIdThunk& thunk,
                                 absl::string_view where);

}  // namespace onexpu::program

#endif  // PJRT_CORE_PROGRAM_VERIFY_COLLECTIVES_H_
