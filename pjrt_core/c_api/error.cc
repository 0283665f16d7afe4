#include "pjrt_core/c_api/error.h"

#include <utility>

namespace onexpu::c_api {

PJRT_Error* ToError(absl::Status status) {
  if (status.ok()) return nullptr;
  return new PJRT_Error{std::move(status)};
}

absl::Status ToStatus(PJRT_Error_Code code, absl::string_view message) {
  return absl::Status(static_cast<absl::StatusCode>(code), message);
}

PJRT_Error_Code ToErrorCode(absl::StatusCode code) { return static_cast<PJRT_Error_Code>(code); }

}  // namespace onexpu::c_api
