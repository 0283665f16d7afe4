#include "pjrt_core/ffi/error.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "pjrt_core/device/library_errors.h"
#include "pjrt_core/ffi/newer_api.h"

namespace onexpu {

XLA_FFI_Error* MakeFfiError(absl::Status status) {
  if (status.ok()) return nullptr;
  std::string message(status.message());
  return new XLA_FFI_Error{std::move(status), std::move(message)};
}

absl::Status TakeFfiError(XLA_FFI_Error* error) {
  if (error == nullptr) return absl::OkStatus();
  absl::Status status = std::move(error->status);
  delete error;
  return status;
}

absl::Status CheckFfiStructSize(const char* name, size_t expected, size_t actual) {
  if (actual >= expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("onexpu: ", name, " has ", actual, " bytes, expected at least ", expected,
                   ": the handler was built against an incompatible XLA FFI header"));
}

XLA_FFI_Error* FfiErrorCreate(XLA_FFI_Error_Create_Args* args) {
  // An error with code OK would be lost on the way: a handler that makes one means failure.
  const absl::StatusCode code = args->errc == XLA_FFI_Error_Code_OK
                                    ? absl::StatusCode::kUnknown
                                    : static_cast<absl::StatusCode>(args->errc);
  return MakeFfiError(absl::Status(code, args->message == nullptr ? "" : args->message));
}

void FfiErrorGetMessage(XLA_FFI_Error_GetMessage_Args* args) {
  args->message = args->error->message.c_str();
  if (args->struct_size >= offsetof(FfiErrorGetDetailsArgs, errc) + sizeof(XLA_FFI_Error_Code)) {
    reinterpret_cast<FfiErrorGetDetailsArgs*>(args)->errc =
        static_cast<XLA_FFI_Error_Code>(args->error->status.code());
  }
}

void FfiErrorDestroy(XLA_FFI_Error_Destroy_Args* args) { delete args->error; }

absl::Status CallFfiHandler(XLA_FFI_Handler* handler, XLA_FFI_CallFrame* frame) {
  return CatchLibraryErrors([&] { return TakeFfiError(handler(frame)); });
}

}  // namespace onexpu
