#include "pjrt_core/c_api/error.h"

#include <utility>

#include "pjrt_core/c_api/entry.h"

namespace onexpu::c_api {
namespace {

void Destroy(PJRT_Error_Destroy_Args* args) {
  if (args == nullptr) return;
  delete args->error;
}

void Message(PJRT_Error_Message_Args* args) {
  if (args == nullptr) return;
  const absl::string_view message = args->error == nullptr ? "" : args->error->status.message();
  args->message = message.data();
  args->message_size = message.size();
}

absl::Status GetCode(PJRT_Error_GetCode_Args& args) {
  args.code = args.error == nullptr ? PJRT_Error_Code_OK : ToErrorCode(args.error->status.code());
  return absl::OkStatus();
}

}  // namespace

PJRT_Error* ToError(absl::Status status) {
  if (status.ok()) return nullptr;
  return new PJRT_Error{std::move(status)};
}

absl::Status ToStatus(PJRT_Error_Code code, absl::string_view message) {
  return absl::Status(static_cast<absl::StatusCode>(code), message);
}

PJRT_Error_Code ToErrorCode(absl::StatusCode code) { return static_cast<PJRT_Error_Code>(code); }

}  // namespace onexpu::c_api

void PJRT_Error::BindApi(PJRT_Api* api) {
  using namespace onexpu::c_api;  // NOLINT: this file's own functions
  api->PJRT_Error_Destroy = Destroy;
  api->PJRT_Error_Message = Message;
  api->PJRT_Error_GetCode = Entry<GetCode>::Call;
}
