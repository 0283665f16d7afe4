#include "pjrt_core/c_api/error_functions.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/c_api/error.h"

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

void BindErrorFunctions(PJRT_Api* api) {
  api->PJRT_Error_Destroy = Destroy;
  api->PJRT_Error_Message = Message;
  api->PJRT_Error_GetCode = Entry<GetCode>::Call;
}

}  // namespace onexpu::c_api
