#include "tf_plugin/core/core_api.h"

#include <dlfcn.h>

#include <cstddef>

#include "absl/strings/string_view.h"
#include "tensorflow/core/platform/logging.h"

// Exported by pjrt_plugin_xpu.so; only its address is used here.
extern "C" int OnexpuProbe(char* message, size_t message_size);

namespace onexpu::tf_plugin {

const PJRT_Api& CoreApi() {
  // This library exports a GetPjrtApi of its own (instrumented_api.h), so the core's is asked of
  // the core's library, and that is found by a symbol that only it has. The reference also makes
  // the linker keep the library.
  static const PJRT_Api* const api = [] {
    Dl_info core{};
    CHECK(dladdr(reinterpret_cast<const void*>(&OnexpuProbe), &core) != 0) << "no OnexpuProbe";
    void* const library = dlopen(core.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    CHECK(library != nullptr) << dlerror();
    auto* const get_api = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
    CHECK(get_api != nullptr) << dlerror();
    return get_api();
  }();
  return *api;
}

absl::StatusOr<const OnexpuLaunchExtension*> LaunchExtension() {
  static const OnexpuLaunchExtension* const extension = []() -> const OnexpuLaunchExtension* {
    for (const PJRT_Extension_Base* base = CoreApi().extension_start; base != nullptr;
         base = base->next) {
      if (static_cast<int>(base->type) != ONEXPU_LAUNCH_EXTENSION_TYPE) continue;
      return reinterpret_cast<const OnexpuLaunchExtension*>(base);
    }
    return nullptr;
  }();
  if (extension == nullptr || extension->version < ONEXPU_LAUNCH_EXTENSION_VERSION) {
    return absl::InternalError(
        "onexpu: pjrt_plugin_xpu.so offers no onexpu_launch extension of this version; the "
        "installed libraries do not belong together, install the onexpu package again");
  }
  return extension;
}

absl::Status ToStatus(PJRT_Error* error) {
  if (error == nullptr) return absl::OkStatus();
  const PJRT_Api& api = CoreApi();
  PJRT_Error_GetCode_Args code{};
  code.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE;
  code.error = error;
  PJRT_Error* failed = api.PJRT_Error_GetCode(&code);
  PJRT_Error_Message_Args message{};
  message.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE;
  message.error = error;
  api.PJRT_Error_Message(&message);
  absl::Status status(
      failed == nullptr ? static_cast<absl::StatusCode>(code.code) : absl::StatusCode::kInternal,
      absl::string_view(message.message, message.message_size));
  for (PJRT_Error* done : {failed, error}) {
    PJRT_Error_Destroy_Args destroy{};
    destroy.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE;
    destroy.error = done;
    if (done != nullptr) api.PJRT_Error_Destroy(&destroy);
  }
  return status;
}

}  // namespace onexpu::tf_plugin
