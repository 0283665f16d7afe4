// Implements XLA_FFI_Error as a pointer to a status, with the three functions of XLA_FFI_Api that
// handle it.
//
// The last receiver owns an error. Thread-safe: no shared state.
#ifndef PJRT_CORE_FFI_ERROR_H_
#define PJRT_CORE_FFI_ERROR_H_

#include <string>

#include "absl/status/status.h"
#include "xla/ffi/api/c_api.h"

struct XLA_FFI_Error {
  absl::Status status;
  std::string message;  // of `status`, NUL-terminated for XLA_FFI_Error_GetMessage
};

namespace onexpu {

// Null for OK.
XLA_FFI_Error* MakeFfiError(absl::Status status);
// Takes the error over; null is OK.
absl::Status TakeFfiError(XLA_FFI_Error* error);

// INVALID_ARGUMENT when a caller's argument struct is smaller than the fields we read.
absl::Status CheckFfiStructSize(const char* name, size_t expected, size_t actual);

XLA_FFI_Error* FfiErrorCreate(XLA_FFI_Error_Create_Args* args);
void FfiErrorGetMessage(XLA_FFI_Error_GetMessage_Args* args);
void FfiErrorDestroy(XLA_FFI_Error_Destroy_Args* args);

// Calls a handler. What it throws (SYCL, oneDNN, oneMKL, std) becomes a status, never passes
// through C.
absl::Status CallFfiHandler(XLA_FFI_Handler* handler, XLA_FFI_CallFrame* frame);

}  // namespace onexpu

#endif  // PJRT_CORE_FFI_ERROR_H_
