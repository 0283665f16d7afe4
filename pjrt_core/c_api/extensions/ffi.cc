// The FFI extension: handlers, types and user data of XLA FFI custom calls.

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/c_api/executable/execute_context.h"
#include "pjrt_core/c_api/extensions/extensions.h"
#include "pjrt_core/ffi/registry.h"
#include "xla/ffi/api/c_api.h"
#include "xla/pjrt/c/pjrt_c_api_ffi_extension.h"

namespace onexpu::c_api {
namespace {

absl::Status RegisterType(PJRT_FFI_Type_Register_Args& args) {
  ONEXPU_RETURN_IF_ERROR(RequireArray(args, args.type_name, args.type_name_size, "type_name"));
  void (*deleter)(void*) = args.type_info == nullptr ? nullptr : args.type_info->deleter;
  ONEXPU_ASSIGN_OR_RETURN(args.type_id, HandlerRegistry::Process().RegisterType(
                                            absl::string_view(args.type_name, args.type_name_size),
                                            args.type_id, deleter));
  return absl::OkStatus();
}

absl::Status AddUserData(PJRT_FFI_UserData_Add_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.context, "context"));
  const bool added =
      args.context->user_data.emplace(args.user_data.type_id, args.user_data.data).second;
  if (added) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("onexpu: the execute context has user data of FFI type ", args.user_data.type_id,
                   " already"));
}

// Only the execute stage: PJRT has no more. The launch extension registers all four.
absl::Status RegisterHandler(PJRT_FFI_Register_Handler_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.handler, "handler"));
  ONEXPU_RETURN_IF_ERROR(
      RequireArray(args, args.target_name, args.target_name_size, "target_name"));
  FfiHandler handler;
  handler.name = std::string(args.target_name, args.target_name_size);
  handler.execute = reinterpret_cast<XLA_FFI_Handler*>(args.handler);
  handler.traits = static_cast<uint32_t>(args.traits);
  return HandlerRegistry::Process().Register(std::move(handler));
}

}  // namespace

PJRT_Extension_Base* FfiExtension(PJRT_Extension_Base* next) {
  static PJRT_FFI_Extension extension = {
      {PJRT_FFI_Extension_STRUCT_SIZE, PJRT_Extension_Type_FFI, next},
      Entry<RegisterType>::Call,
      Entry<AddUserData>::Call,
      Entry<RegisterHandler>::Call,
  };
  return &extension.base;
}

}  // namespace onexpu::c_api
