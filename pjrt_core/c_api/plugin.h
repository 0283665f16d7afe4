// The plugin as a whole: initialisation, attributes, versions.
#ifndef PJRT_CORE_C_API_PLUGIN_H_
#define PJRT_CORE_C_API_PLUGIN_H_

#include "absl/strings/string_view.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::c_api {

void BindPlugin(PJRT_Api* api);

// "onexpu 0.1.0": of topologies that name no device of this machine.
absl::string_view PlatformVersion();

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_PLUGIN_H_
