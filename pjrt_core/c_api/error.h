// PJRT_Error: a status, owned by its receiver until PJRT_Error_Destroy.
//
// Immutable; any thread may read it.
#ifndef PJRT_CORE_C_API_ERROR_H_
#define PJRT_CORE_C_API_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/pjrt/c/pjrt_c_api.h"

struct PJRT_Error {
  absl::Status status;
};

namespace onexpu::c_api {

// Null for OK; otherwise the caller owns the error.
PJRT_Error* ToError(absl::Status status);

// The status that a caller's code and message mean; OK for PJRT_Error_Code_OK.
absl::Status ToStatus(PJRT_Error_Code code, absl::string_view message);

// PJRT's code of a status: the two enumerations have the same values.
PJRT_Error_Code ToErrorCode(absl::StatusCode code);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_ERROR_H_
