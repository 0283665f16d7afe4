// PJRT_ExecuteContext: what a caller hands through to the FFI handlers of one execution.
//
// Owned by the caller, who fills it before and keeps it during the execution; not to be changed
// meanwhile.
#ifndef PJRT_CORE_C_API_EXECUTABLE_EXECUTE_CONTEXT_H_
#define PJRT_CORE_C_API_EXECUTABLE_EXECUTE_CONTEXT_H_

#include "pjrt_core/ffi/registry.h"
#include "xla/pjrt/c/pjrt_c_api.h"

struct PJRT_ExecuteContext {
  static void BindApi(PJRT_Api* api);

  onexpu::FfiUserData user_data;
};

#endif  // PJRT_CORE_C_API_EXECUTABLE_EXECUTE_CONTEXT_H_
