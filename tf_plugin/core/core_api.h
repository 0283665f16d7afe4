// The core as this room sees it: the PJRT C API table, our launch extension, and PJRT errors as
// Status.
//
// The table lives in pjrt_plugin_xpu.so, which this library links; it is the one that TensorFlow
// and JAX use, too. Every function may be called from any thread.
#ifndef TF_PLUGIN_CORE_CORE_API_H_
#define TF_PLUGIN_CORE_CORE_API_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/c_api/extensions/launch.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::tf_plugin {

// TensorFlow's name of the device type.
inline constexpr char kDeviceType[] = "XPU";

const PJRT_Api& CoreApi();

// The onexpu_launch extension. INTERNAL if the core that is loaded does not offer it.
absl::StatusOr<const OnexpuLaunchExtension*> LaunchExtension();

// Takes `error` (null: OK). PJRT's codes are absl's.
absl::Status ToStatus(PJRT_Error* error);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_CORE_CORE_API_H_
