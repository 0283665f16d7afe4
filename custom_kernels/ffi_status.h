// absl::Status to XLA FFI's C++ wrapper and back. Pure functions; any thread.
#ifndef CUSTOM_KERNELS_FFI_STATUS_H_
#define CUSTOM_KERNELS_FFI_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

inline ::xla::ffi::Error ToFfiError(const absl::Status& status) {
  if (status.ok()) return ::xla::ffi::Error::Success();
  return ::xla::ffi::Error(static_cast<XLA_FFI_Error_Code>(status.code()),
                           std::string(status.message()));
}

// Takes an error of `api` over.
inline absl::Status StatusFromFfi(const XLA_FFI_Api* api, XLA_FFI_Error* error) {
  if (error == nullptr) return absl::OkStatus();
  absl::Status status = absl::InternalError(::xla::ffi::internal::GetErrorMessage(api, error));
  ::xla::ffi::internal::DestroyError(api, error);
  return status;
}

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_FFI_STATUS_H_
