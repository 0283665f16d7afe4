// The plugin as a whole: initialisation, attributes, versions.
#ifndef PJRT_CORE_C_API_PLUGIN_H_
#define PJRT_CORE_C_API_PLUGIN_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::c_api {

void BindPlugin(PJRT_Api* api);

// Registers the FFI handlers that this library brings along. The first call does, later ones give
// its result.
absl::Status RegisterBuiltinHandlers();

// "onexpu 0.1.0": of topologies that name no device of this machine.
absl::string_view PluginVersion();

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_PLUGIN_H_
