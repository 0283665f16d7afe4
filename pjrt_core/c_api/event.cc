#include "pjrt_core/c_api/event.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/c_api/error.h"

namespace onexpu::c_api {
namespace {

absl::Status Destroy(PJRT_Event_Destroy_Args& args) {
  delete args.event;
  return absl::OkStatus();
}

absl::Status IsReady(PJRT_Event_IsReady_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.event, "event"));
  args.is_ready = args.event->event->IsReady();
  return absl::OkStatus();
}

absl::Status Error(PJRT_Event_Error_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.event, "event"));
  if (!args.event->event->IsReady()) {
    return absl::FailedPreconditionError("onexpu: PJRT_Event_Error: the event is not ready yet");
  }
  return args.event->event->status();
}

absl::Status Await(PJRT_Event_Await_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.event, "event"));
  return args.event->event->Await();
}

absl::Status OnReady(PJRT_Event_OnReady_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.event, "event"));
  if (args.callback == nullptr) {
    return absl::InvalidArgumentError("onexpu: PJRT_Event_OnReady: callback is null");
  }
  args.event->event->OnReady([callback = args.callback, user = args.user_arg](
                                 const absl::Status& status) { callback(ToError(status), user); });
  return absl::OkStatus();
}

absl::Status Create(PJRT_Event_Create_Args& args) {
  args.event = new PJRT_Event{onexpu::Event::Create()};
  return absl::OkStatus();
}

absl::Status Set(PJRT_Event_Set_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.event, "event"));
  ONEXPU_RETURN_IF_ERROR(
      RequireArray(args, args.error_message, args.error_message_size, "error_message"));
  if (args.event->event->IsReady()) {
    return absl::FailedPreconditionError("onexpu: PJRT_Event_Set: the event has been set before");
  }
  args.event->event->Complete(
      ToStatus(args.error_code, absl::string_view(args.error_message, args.error_message_size)));
  return absl::OkStatus();
}

}  // namespace
}  // namespace onexpu::c_api

void PJRT_Event::BindApi(PJRT_Api* api) {
  using namespace onexpu::c_api;  // NOLINT: this file's own functions
  api->PJRT_Event_Destroy = Entry<Destroy>::Call;
  api->PJRT_Event_IsReady = Entry<IsReady>::Call;
  api->PJRT_Event_Error = Entry<Error>::Call;
  api->PJRT_Event_Await = Entry<Await>::Call;
  api->PJRT_Event_OnReady = Entry<OnReady>::Call;
  api->PJRT_Event_Create = Entry<Create>::Call;
  api->PJRT_Event_Set = Entry<Set>::Call;
}
