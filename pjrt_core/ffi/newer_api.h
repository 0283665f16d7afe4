// What XLA FFI 0.4 (jaxlib 0.11.1) and 0.5 (jaxlib 0.12) add to the C header that onexpu is built
// against, which is 0.3. Handlers of these versions get the structs below; the layout of everything
// else is the same. The names are those of xla/ffi/api/c_api.h without its prefix.
#ifndef PJRT_CORE_FFI_NEWER_API_H_
#define PJRT_CORE_FFI_NEWER_API_H_

#include <cstddef>
#include <cstdint>

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// The newest minor version whose handlers are accepted.
inline constexpr int kNewestFfiMinor = 5;

// 0.4: in the place of Error_GetMessage.
struct FfiErrorGetDetailsArgs {
  size_t struct_size;
  XLA_FFI_Extension_Base* extension_start;
  XLA_FFI_Error* error;
  const char* message;      // out
  XLA_FFI_Error_Code errc;  // out
};

// 0.4: a bundle has a handler for the stage that records command buffers, which do not exist here.
struct FfiHandlerRegisterArgs04 {
  size_t struct_size;
  XLA_FFI_Extension_Base* extension_start;
  XLA_FFI_ByteSpan name;
  XLA_FFI_ByteSpan platform;
  XLA_FFI_Handler_Bundle bundle;
  XLA_FFI_Handler* record;
  XLA_FFI_Handler_Traits traits;
};

// 0.4
struct FfiFindExtensionArgs {
  size_t struct_size;
  XLA_FFI_Extension_Base* extension_start;
  XLA_FFI_ExecutionContext* ctx;
  int64_t extension_type;
  const void* extension;  // out; null: the execution has none of this type
};

// 0.5
struct FfiCustomOptionsGetArgs {
  size_t struct_size;
  XLA_FFI_Extension_Base* extension_start;
  XLA_FFI_ExecutionContext* ctx;
  const XLA_FFI_Attrs* attrs;  // out
};

// The table of functions. Handlers look at its size before they use the last ones.
struct FfiApi05 {
  XLA_FFI_Api api;
  XLA_FFI_Error* (*find_extension)(FfiFindExtensionArgs* args);         // 0.4
  XLA_FFI_Error* (*custom_options_get)(FfiCustomOptionsGetArgs* args);  // 0.5
};

}  // namespace onexpu

#endif  // PJRT_CORE_FFI_NEWER_API_H_
