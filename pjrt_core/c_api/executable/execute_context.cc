#include "pjrt_core/c_api/executable/execute_context.h"

#include "absl/status/status.h"
#include "pjrt_core/c_api/entry.h"

namespace onexpu::c_api {
namespace {

absl::Status Create(PJRT_ExecuteContext_Create_Args& args) {
  args.context = new PJRT_ExecuteContext;
  return absl::OkStatus();
}

absl::Status Destroy(PJRT_ExecuteContext_Destroy_Args& args) {
  delete args.context;
  return absl::OkStatus();
}

}  // namespace
}  // namespace onexpu::c_api

void PJRT_ExecuteContext::BindApi(PJRT_Api* api) {
  using namespace onexpu::c_api;  // NOLINT: this file's own functions
  api->PJRT_ExecuteContext_Create = Entry<Create>::Call;
  api->PJRT_ExecuteContext_Destroy = Entry<Destroy>::Call;
}
